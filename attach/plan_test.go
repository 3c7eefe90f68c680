package attach_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

func TestSiteShapes(t *testing.T) {
	path := assemble(t, "testdata/nops.S")
	p := start(t, exec.Command(path))
	s := open(t, path+":nops:*", nil)
	p.Do("")

	kernel := sys.UprobeOptimization()
	attached := map[string]bool{
		"nop": true, "nop_nop5": true, "nop_nop10": true, "trap": false,
		"nop5":  kernel != sys.OptimizesNop5,
		"nop10": kernel == sys.OptimizesNop10,
	}
	for _, site := range s.Plan() {
		if got, want := site.Attached, attached[site.Probe.Name]; got != want {
			t.Errorf("%s: attached %t (reason %v), want %t", site.Probe.Name, got, site.Reason, want)
		}
		if site.Attached == (site.Reason != nil) {
			t.Errorf("%s: attached %t with reason %v", site.Probe.Name, site.Attached, site.Reason)
		}
		moved := site.Offset != site.Probe.Offset
		if want := site.Probe.Name == "nop_nop10" && kernel == sys.OptimizesNop10; moved != want {
			t.Errorf("%s: attached at %#x for a site at %#x", site.Probe.Name, site.Offset, site.Probe.Offset)
		}
		if site.Probe.Name == "nop5" && kernel == sys.OptimizesNop5 && !errors.Is(site.Reason, attach.ErrUnsafe) {
			t.Errorf("nop5: reason %v does not wrap ErrUnsafe", site.Reason)
		}
	}
	got := map[string][]arg{}
	for _, ev := range drain(t, s) {
		got[ev.Name] = argsOf(ev)
	}
	want := map[string][]arg{
		"nop": number(uint64(0x1122334455667788), uint64(0x77), uint64(0x7788), int64(0x55667788), uint64(0xff)),
		// Relative to the instruction pointer of the site, wherever the uprobe
		// is.
		"nop_nop5":  number(uint64(1234), uint64(5678)),
		"nop_nop10": number(uint64(1234)),
	}
	want["nop"] = append(want["nop"],
		arg{Name: "arg5", Err: `register "xmm0" is a vector register, which a BPF program cannot read`},
		arg{Name: "arg6", Err: "a BPF program cannot address thread-local memory (%fs:)"})
	if attached["nop5"] {
		want["nop5"] = nil
	}
	if attached["nop10"] {
		want["nop10"] = nil
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestForce(t *testing.T) {
	if !optimizesNop5 {
		needs.Skip(t, "this kernel does not optimise nop5")
	}
	path := assemble(t, "testdata/nops.S")
	p := start(t, exec.Command(path))
	if _, err := attach.Open(t.Context(), []string{path + ":nops:nop5"}, nil); !errors.Is(err, attach.ErrNoSite) || !errors.Is(err, attach.ErrUnsafe) {
		needPrivileges(t, err)
		t.Errorf("attach to nop5: error %v, want one that wraps ErrNoSite and ErrUnsafe", err)
	}
	s := open(t, path+":nops:nop5", &attach.Options{Force: true})
	p.Do("")
	if n := len(drain(t, s)); n != 1 {
		t.Errorf("got %d events from a forced site, want 1", n)
	}
}

// TestCalledStub checks that sites of our own providers become calls while a
// session is open, and nops again afterwards.
func TestCalledStub(t *testing.T) {
	if !optimizesNop5 {
		needs.Skip(t, "this kernel does not optimise nop5")
	}
	p := startChild(t, "typed")
	p.Do("load")
	const nop5, call = 0x0f, 0xe8
	live.Check(t, p.PID(), "typed:ints", nop5, 0)
	s := open(t, "typed:ints", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("ints") // the first hit makes the kernel optimise
	p.Do("ints")
	live.Check(t, p.PID(), "typed:ints", call, 1)
	maps, err := os.ReadFile("/proc/" + itoa(p.PID()) + "/maps")
	if err != nil || !strings.Contains(string(maps), "[uprobes-trampoline]") {
		t.Errorf("no [uprobes-trampoline] in the maps of the traced process (error %v)", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	live.Check(t, p.PID(), "typed:ints", nop5, 0)
	p.Do("ints")
}
