package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// TestFunctionEntries attaches to every kind of instruction that a function may
// begin with, and checks that none that the kernel would optimise is missed.
func TestFunctionEntries(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	path := build(t, "entries.S", "gcc", "-nostdlib", "-static")
	unsafe := map[string]bool{"nop5": true, "nop5_disp": true, "nop5_data16": true, "nop5_xchg": true, "nop5_rex": true}
	refused := map[string]bool{"locked": true, "cs_nop": true, "vmovd": true, "in_port": true, "in_port2": true}
	notCalled := map[string]bool{"_start": true, "vzeroupper": true}
	for _, force := range []bool{false, true} {
		p := start(t, exec.Command(path))
		p.Do("") // now it is past _start
		s := open(t, "uprobe:"+path+":*", &attach.Options{Args: []string{"none"}, Force: force})
		fires := map[string]int{}
		for _, site := range s.Plan() {
			name := site.Probe.Name
			isUnsafe := unsafe[name] && optimizesNop5 || name == "vzeroupper"
			if want := !refused[name] && (force || !isUnsafe); site.Attached != want {
				t.Errorf("%s, force %v: attached %v (%v)", name, force, site.Attached, site.Reason)
			}
			if !force && isUnsafe && !errors.Is(site.Reason, attach.ErrUnsafe) {
				t.Errorf("%s: reason %v", name, site.Reason)
			}
			if site.Attached && !notCalled[name] {
				fires[name] = 3
			}
		}
		for range 3 {
			p.Do("")
		}
		if force && optimizesNop5 {
			checkOptimized(t, p, s.Plan(), unsafe)
		}
		got := map[string]int{}
		for _, ev := range drain(t, s) {
			got[ev.Name]++
		}
		if d := cmp.Diff(fires, got); d != "" {
			t.Errorf("events, force %v (-want +got):\n%s", force, d)
		}
	}
}

// checkOptimized checks that the kernel has put calls into exactly the functions
// of want.
func checkOptimized(t *testing.T, p *tracee.Program, plan attach.Plan, want map[string]bool) {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, site := range plan {
		var b [1]byte
		if _, err := mem.ReadAt(b[:], int64(site.Probe.Location)); err != nil {
			t.Fatal(err)
		}
		if got := b[0] == 0xe8; got != want[site.Probe.Name] {
			t.Errorf("%s: optimised %v, want %v", site.Probe.Name, got, want[site.Probe.Name])
		}
	}
}

// TestFunctionsRefused checks that functions which must not or cannot be traced
// are refused.
func TestFunctionsRefused(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	start(t, exec.Command(path)).Do("") // now the C library is mapped
	for selector, want := range map[string]error{
		"uretprobe:" + path + ":_start":      attach.ErrUnsafe,
		"uretprobe:libc.so.6:__sigsetjmp":    attach.ErrUnsafe,
		"uprobe:libc.so.6:strlen":            attach.ErrSilent,
		"uprobe:" + path + ":none":           attach.ErrNoMatch,
		"uprobe:" + path + ":write":          attach.ErrNoMatch, // another object's
		"uprobe:no_such_file_anywhere.so:*":  attach.ErrNoMatch,
		"uprobe:" + path + "_not_there:sum8": os.ErrNotExist,
	} {
		if _, err := attach.Open(t.Context(), []string{selector}, nil); !errors.Is(err, want) {
			needPrivileges(t, err)
			t.Errorf("%s: error %v, want one that wraps %v", selector, err, want)
		}
	}
}
