package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/debian"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestPythonStacks compares the functions of Python on the stacks of collections of garbage with
// the calls that the script makes. CPython has frames of them from 3.12 on, with -X perf; Debian 13
// has that, with probes.
func TestPythonStacks(t *testing.T) {
	needs.Root(t)
	needs.Tools(t, "apt-get")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := debian.Install(filepath.Join(cache, "usdt-python"), "trixie", runtime.GOARCH, "python3.13-minimal")
	if err != nil {
		needs.Skip(t, "needs Python of Debian 13: %v", err)
	}
	python, err := root.Command("usr/bin/python3.13")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/deep.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python[0], slices.Concat(python[1:], []string{"-X", "perf", script})...)
	cmd.Env = append(os.Environ(), "PYTHONHOME="+root.Path("usr"))
	p := tracee.Start(t, cmd).Ready()
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", p.PID())) })
	s := open(t, []string{"python:gc__start"}, unwound(p.PID()))
	var want []string
	for depth := range 4 {
		p.Do("%d", depth)
		calls := slices.Concat([]string{"innermost"}, slices.Repeat([]string{"deeper"}, 1+depth), []string{"<module>"})
		want = append(want, strings.Join(calls, " "))
	}
	var got []string
	for _, ev := range drain(t, s) {
		var calls []string
		for _, f := range ev.Stack.Frames() {
			name, ok := strings.CutPrefix(f.Func, "py::")
			if !ok {
				continue
			}
			if f.File != script {
				t.Errorf("%s is of %q, want %q", name, f.File, script)
			}
			calls = append(calls, name)
		}
		if frames := ev.Stack.Frames(); frames[len(frames)-1].Func != "_start" {
			t.Errorf("a stack ends with %+v, want the beginning of the program: %v", frames[len(frames)-1], ev.Stack.Err)
		}
		got = append(got, strings.Join(calls, " "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}
