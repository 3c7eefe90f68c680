package attach_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
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
