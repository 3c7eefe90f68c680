package plan

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFindCopier finds names of functions that copy code, also where two parts of a table
// meet.
func TestFindCopier(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"node":        {"\x00_ZN4node25MapStaticCodeToLargePagesEv\x00", largePages},
		"bolt":        {"\x00__bolt_hugify_start_program\x00", "bolt_hugify"},
		"own":         {"\x00main\x00hugify\x00", "\x00hugify\x00"},
		"jemalloc":    {"\x00hpdata_hugify\x00", ""}, // marks its own memory only
		"end of part": {strings.Repeat("x", 1<<20-20) + "\x00remapExecutable\x00", "remapExecutable"},
		"third part":  {strings.Repeat("x", 2<<20) + "\x00hugifyText\x00", "hugifyText"},
		"none":        {strings.Repeat("x", 3<<20), ""},
		"empty":       {"", ""},
	} {
		if got := find(strings.NewReader(test.text), copiers); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestAsksForLargePages recognises node's option among arguments and in the environment.
func TestAsksForLargePages(t *testing.T) {
	for name, test := range map[string]struct {
		argument, environment string
		want                  bool
	}{
		"argument":    {"--use-largepages=on", "", true},
		"environment": {"x", "NODE_OPTIONS=--use-largepages=silent", true},
		"neither":     {"x", "NODE_OPTIONS=--no-warnings", false},
	} {
		cmd := exec.Command("sh", "-c", "read line", test.argument)
		cmd.Env = append(os.Environ(), test.environment)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got := asksForLargePages(cmd.Process.Pid); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
		in.Close()
		cmd.Wait()
	}
}
