package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCutStack prints stacks that are cut, in each form.
func TestCutStack(t *testing.T) {
	needs.C(t)
	needs.Tools(t, "go")
	dir := commands(t, "sdttrace")
	prog := filepath.Join(t.TempDir(), "callback")
	needs.Run(t, "go", "build", "-o", prog, "testdata/callback/main.go")
	for _, test := range []struct {
		flags []string
		want  string
	}{
		// Where C runs on a stack that the runtime has switched to, the stack ends, and no
		// frame is made up.
		{[]string{"--stack=dwarf"}, `(?s)hit arg0=1\n\thit .*\n\truntime\.asmcgocall[^\n]*\n\t\[truncated: it goes on in memory that was not copied: another stack\]\n`},
		{[]string{"--stack=dwarf", "--json"}, `"func":"runtime\.asmcgocall"[^{}]*\}\],"truncated":"it goes on in memory that was not copied: another stack"\}`},
		{[]string{"--stack=2", "--json"}, `\}\],"truncated":"no more than 2 calls are read"\}`},
		{[]string{"count", "--stack=dwarf", "--by", "stack", "--json"}, `"by":\{"stack":\[.*\]\},"truncated":"it goes on in memory that was not copied: another stack","count":1\}`},
		{[]string{"profile", "--stack=dwarf", "--format", "folded"}, `callback;\[truncated: it goes on in memory that was not copied: another stack\];runtime\.asmcgocall;.*;hit 1\n`},
	} {
		cmd := exec.Command(filepath.Join(dir, "sdttrace"), append(test.flags, prog+":callback:hit", "--", prog)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(test.want).Match(out) {
			t.Errorf("%q: got %v and %s, want %s", test.flags, err, out, test.want)
		}
	}
}
