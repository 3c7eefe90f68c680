package attach_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// dots make testdata/redzone.S pass its sites ten thousand times each.
func dots() string {
	if testing.Short() {
		return "."
	}
	return ".........."
}

func assemble(t testing.TB, source string) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for x86-64")
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".S"))
	if msg, err := exec.Command("gcc", "-nostdlib", "-static", "-o", out, source).CombinedOutput(); err != nil {
		needs.Skip(t, "needs gcc: %v: %s", err, msg)
	}
	return out
}

// TestRedZone checks that tracing does not corrupt a program which keeps data
// below its stack pointer, although the kernel would optimise both of its sites.
func TestRedZone(t *testing.T) {
	path := assemble(t, "testdata/redzone.S")
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(path))
			s := openEvents(t, path+":redzone:*", &attach.EventOptions{RingSize: 32 << 20}, &attach.Options{Link: kind})
			sites := uint64(0)
			for _, site := range s.Plan() {
				switch name := site.Probe.Name; {
				case site.Attached:
					sites++
					if site.Offset != site.Probe.Offset {
						t.Errorf("%s: moved to %#x from %#x", name, site.Offset, site.Probe.Offset)
					}
				case name != "bare" || !optimizesNop5 || !errors.Is(site.Reason, attach.ErrUnsafe):
					t.Errorf("%s: not attached: %v", name, site.Reason)
				}
			}
			p.Do("%s", dots()) // fails if the program has ended
			last := event.Event{}
			for _, ev := range drain(t, s) {
				last = ev
			}
			if len(last.Args) != 2 || last.Args[0].Value != uint64(1) || last.Args[1].Value != uint64(16) {
				t.Errorf("last event %+v, want the red zone's values 1 and 16", last)
			}
			if st, want := checkSum(t, s), sites*uint64(len(dots()))*10_000; st.Fired != want {
				t.Errorf("stats %+v, want %d fired", st, want)
			}
			p.Do("%s", dots())
			if err := p.End(); err != nil {
				t.Errorf("the program finds its red zone changed: %v", err)
			}
		})
	}
}

// TestRedZoneForced checks that [attach.Options.Force] does the harm that its
// documentation describes, so that TestRedZone would see it.
func TestRedZoneForced(t *testing.T) {
	if !optimizesNop5 {
		needs.Skip(t, "this kernel does not optimise nop5")
	}
	path := assemble(t, "testdata/redzone.S")
	p := start(t, exec.Command(path))
	s := open(t, path+":redzone:bare", &attach.Options{Force: true})
	p.Send(".")
	p.Next()
	if err := p.End(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("the program ended by %v; this kernel does not overwrite red zones, so that refusing is needless", err)
	}
	s.Close()
}
