package collection_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/bpf"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestOwnSlot has a program from a collection read a slot that holds an address
// of the traced program itself, however the linker has it filled.
func TestOwnSlot(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	spec := bpf.ReadSpec(t, newestObject)
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
			s, err := attach.Open(t.Context(), []string{program + ":gotown:slot"}, nil)
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			defer s.Close()
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
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			n := 0
			for ev, err := range s.Events() {
				if n++; err != nil || ev.Args[0].Value != want {
					t.Errorf("the session got %+v (error %v), want %#x", ev, err, want)
				}
			}
			if n != 1 {
				t.Errorf("the session got %d events, want 1", n)
			}
		})
	}
}
