package attach_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestSlots reads arguments that are slots of a global offset table: they hold
// what the dynamic linker has chosen, here a variable's copy in the program.
func TestSlots(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	dir := t.TempDir()
	library, program := filepath.Join(dir, "got.so"), filepath.Join(dir, "got")
	for _, args := range [][]string{
		{"-O1", "-shared", "-fPIC", "-Wl,-soname,got.so", "-o", library, "testdata/got.c"},
		{"-O1", "-DMAIN", "-no-pie", "-fno-pie", "-Wl,-rpath," + dir, "-o", program, "testdata/got.c", library},
	} {
		if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
		}
	}
	p := start(t, exec.Command(program))
	s := open(t, library+":got:slots", nil)
	var copied, value uint64
	if _, err := fmt.Sscan(p.Do(""), &copied, &value); err != nil {
		t.Fatalf("%v: %v", err, p.End())
	}
	events := drain(t, s)
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	args := argsOf(events[0])
	if args[0].Value != copied {
		t.Errorf("got %v, want the copy's address %#x", args[0], copied)
	}
	// getenv is libc's, far from the library and the program.
	if getenv, ok := args[1].Value.(uint64); !ok || getenv < 1<<32 {
		t.Errorf("got %v, want the address of a function in libc", args[1])
	}
}

// TestOwnSlot has a program from a collection read a slot that holds an address
// of the traced program itself, however the linker has it filled.
func TestOwnSlot(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	spec := readSpec(t, newestObject)
	for _, flags := range []string{
		"-fPIE -pie", "-fPIE -pie -Wl,-z,pack-relative-relocs", "-fno-pie -no-pie",
	} {
		t.Run(flags, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "gotown")
			args := append(strings.Fields(flags), "-O1", "-o", program, "testdata/gotown.c")
			if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
			}
			p := start(t, exec.Command(program))
			s := open(t, program+":gotown:slot", nil)
			c := newCollection(t, spec, nil)
			a := attachProgram(t, c, "any", program+":gotown:slot", nil)
			var want uint64
			if _, err := fmt.Sscan(p.Do(""), &want); err != nil {
				t.Fatalf("%v: %v", err, p.End())
			}
			if errs := a.Plan()[0].ArgErrs; errs != nil {
				t.Errorf("arguments are refused: %v", errs)
			}
			events := firings(t, c)
			if len(events) != 1 || uint64(events[0].Args[0]) != want || events[0].Errors[0] != 0 {
				t.Errorf("the collection got %+v, want %#x", events, want)
			}
			if all := drain(t, s); len(all) != 1 || all[0].Args[0].Value != want {
				t.Errorf("the session got %+v, want %#x", all, want)
			}
		})
	}
}
