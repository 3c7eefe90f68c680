package attach_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestPagedOut reads arguments from pages that have to be brought in from a
// file, which programs that may sleep do.
func TestPagedOut(t *testing.T) {
	sleepable, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, Flags: unix.BPF_F_SLEEPABLE, License: "GPL",
		Instructions: kernel.EmptyProgram(),
	})
	if err != nil {
		needs.Skip(t, "this kernel has no programs on uprobes that may sleep: %v", err)
	}
	sleepable.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "paged")
	if msg, err := exec.Command("gcc", "-O1", "-o", path, "testdata/paged.c").CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc and sys/sdt.h: %v: %s", err, msg)
	}
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(path, filepath.Join(dir, "file")))
			s := openEvents(t, path+":paged:arguments", &attach.EventOptions{MaxString: 3000}, &attach.Options{Link: kind, Strings: []string{"paged:arguments:arg0", "paged:arguments:arg2", "paged:arguments:arg3"}})
			// And by a condition, which reads memory before anything else does.
			filtered := open(t, path+":paged:arguments", &attach.Options{Link: kind, Where: `arg0 == "across two pages" && arg1 < 0`})
			for range 3 {
				p.Do("")
			}
			want := []arg{
				{Name: "arg0", Value: "across two pages"},
				{Name: "arg1", Value: int64(-1234567890123)},
				{Name: "arg2", Value: strings.Repeat("x", 3000), Err: "truncated"},
				{Name: "arg3", Err: event.ErrFault.Error()},
			}
			events := drain(t, s)
			if len(events) != 3 {
				t.Fatalf("got %d events, want 3", len(events))
			}
			for _, ev := range events {
				got := argsOf(ev)
				for i := range got {
					got[i].Err, _, _ = strings.Cut(got[i].Err, " to ") // "truncated to N bytes"
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("arguments (-want +got):\n%s", d)
				}
			}
			if n := len(drain(t, filtered)); n != 3 {
				t.Errorf("%d events meet the condition, want 3", n)
			}
		})
	}
	if err := os.Remove(filepath.Join(dir, "file")); err != nil {
		t.Error(err)
	}
}
