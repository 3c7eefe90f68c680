package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestSplitMissing traces a function and a line of a program whose file with its variables is gone:
// each answer names that file.
func TestSplitMissing(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "gcc")
	sdttrace := filepath.Join(commands(t, "sdttrace"), "sdttrace")
	source, err := filepath.Abs("testdata/variables.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // some end with an error, which says what is missing
		return string(out)
	}
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		run("gcc", version, "-O1", "-gsplit-dwarf", "-o", "v", source)
		files, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %q, error %v", files, err)
		}
		if got := run(sdttrace, "list", "-v", "uprobe:./v:handle"); strings.Contains(got, ".dwo") || !strings.Contains(got, "req") {
			t.Errorf("%s: with its file: %s", version, got)
		}
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{
			"list -v uprobe:./v:handle", "list -v uprobe:./v:variables.c:17", "uprobe:./v:handle -- ./v",
			"--args req uprobe:./v:handle -- ./v", "--args req uprobe:./v:variables.c:17 -- ./v",
		} {
			if got := run(sdttrace, strings.Fields(args)...); !strings.Contains(got, filepath.Base(files[0])) {
				t.Errorf("%s: %s does not name the missing file:\n%s", version, args, got)
			}
		}
	}
}
