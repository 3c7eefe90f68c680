package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// TestCutAtEnd asks for as many calls as there are, and for one fewer: only the latter is cut.
func TestCutAtEnd(t *testing.T) {
	prog := needs.Compile(t, "testdata/deep.c", "gcc", "-g", "-O1")
	dir := commands(t, "sdttrace")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(filepath.Join(dir, "sdttrace"), append(append([]string{"-q"}, args...), "uprobe:"+prog+":deepest", "--", prog)...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	const frame, cut = `"addr":`, "truncated"
	all := strings.Count(run("--stack=dwarf", "--json", "--limit", "1"), frame)
	if all < 3 {
		t.Fatalf("%d calls, want main and what starts it", all)
	}
	for _, args := range [][]string{{"--limit", "1"}, {"--limit", "1", "--json"}, {"count", "--by", "stack"}, {"count", "--by", "stack", "--json"}, {"profile", "--format", "folded"}} {
		for calls, want := range map[int]bool{all: false, all - 1: true} {
			if out := run(append(args, fmt.Sprintf("--stack=dwarf,%d", calls))...); strings.Contains(out, cut) != want {
				t.Errorf("%q with %d of %d calls: cut is %v, want %v:\n%s", args, calls, all, !want, want, out)
			}
		}
	}
}
