package attach_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// cookieSum returns a program that adds the cookies of its sites up, and a function that returns the sum.
func cookieSum(t *testing.T, typ ebpf.ProgramType, at ebpf.AttachType) (*ebpf.Program, func() uint64) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	t.Cleanup(func() { m.Close() })
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: typ, AttachType: at, License: "GPL", Instructions: asm.Instructions{
		asm.FnGetAttachCookie.Call(),
		asm.LoadMapValue(asm.R1, m.FD(), 0),
		asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	t.Cleanup(func() { prog.Close() })
	return prog, func() (sum uint64) {
		if err := m.Lookup(uint32(0), &sum); err != nil {
			t.Fatal(err)
		}
		return sum
	}
}

// ownInKernel attaches a program to sites of the kernel that Find finds, has a process reach them, and
// detaches. cookie is so large that no other process changes how often the sum has it.
func ownInKernel(t *testing.T, selector string, typ ebpf.ProgramType, at ebpf.AttachType, link attach.LinkKind, reach func()) {
	t.Helper()
	plan, err := attach.Find(t.Context(), []string{selector}, nil)
	needPrivileges(t, err)
	if err != nil {
		t.Fatal(err)
	}
	var probes []reader.Probe
	for _, site := range plan {
		probes = append(probes, site.Probe)
	}
	prog, sum := cookieSum(t, typ, at)
	const cookie = 1 << 40
	a, err := attach.AttachProbes(prog, probes, &attach.ProgramOptions{Cookies: []uint64{cookie}, Link: link})
	if err != nil {
		t.Fatalf("%s with attach type %v by %v: %v", selector, at, link, err)
	}
	reach()
	if got := sum(); got == 0 || got%cookie != 0 {
		t.Errorf("%s with attach type %v by %v: the cookies add up to %#x, want a multiple of %#x", selector, at, link, got, uint64(cookie))
	}
	if n := a.Plan().Attached(); n != len(probes) {
		t.Errorf("%s: attached to %d sites, want %d", selector, n, len(probes))
	}
	if err := errors.Join(a.Close(), a.Wait(t.Context())); err != nil {
		t.Error(err)
	}
	before := sum()
	reach()
	if got := sum(); got != before {
		t.Errorf("%s: the cookies add up to %#x after Close, want %#x", selector, got, before)
	}
}

// TestTracepointOwnProgram attaches the caller's program to tracepoints.
func TestTracepointOwnProgram(t *testing.T) {
	needs.Tracepoints(t)
	p := startChild(t, "calling")
	reach := func() { p.Do("mkdir 3") }
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.MultiLink, attach.PerfLink} {
		ownInKernel(t, "tracepoint:syscalls:sys_*_mkdirat", ebpf.TracePoint, ebpf.AttachNone, link, reach)
	}
}

// TestKernelOwnProgram attaches the caller's program, loaded for each kind of link, to entries of
// functions of the kernel and returns from them.
func TestKernelOwnProgram(t *testing.T) {
	needs.Kprobes(t)
	p := startChild(t, "fallocating")
	reach := func() { p.Do("3 4096") }
	types := []ebpf.AttachType{ebpf.AttachNone}
	if features.HaveBPFLinkKprobeMulti() == nil {
		types = append(types, ebpf.AttachTraceKprobeMulti)
	}
	for _, at := range types {
		for _, selector := range []string{"kprobe:vfs_fallocate", "kretprobe:vfs_fallocate"} {
			ownInKernel(t, selector, ebpf.Kprobe, at, attach.AutoLink, reach)
		}
	}
	plan, err := attach.Find(t.Context(), []string{"kprobe:vfs_fallocate"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(types) > 1 {
		prog, _ := cookieSum(t, ebpf.Kprobe, ebpf.AttachNone)
		_, err = attach.AttachProbes(prog, []reader.Probe{plan[0].Probe}, &attach.ProgramOptions{Link: attach.MultiLink})
		if err == nil || !strings.Contains(err.Error(), "was not loaded for kprobe_multi links") {
			t.Errorf("a program without an attach type by kprobe_multi: %v", err)
		}
	}
}

// TestOwnProgramOfOtherType attaches programs to sites in the kernel that run others.
func TestOwnProgramOfOtherType(t *testing.T) {
	traced, called, entered := reader.Probe{Kind: reader.Tracepoint}, reader.Probe{Kind: reader.Kprobe}, reader.Probe{Kind: reader.Fentry}
	for _, test := range []struct {
		typ   ebpf.ProgramType
		probe reader.Probe
		want  string
	}{
		{ebpf.Kprobe, traced, "run programs of type TracePoint"},
		{ebpf.TracePoint, called, "run programs of type Kprobe, as sections kprobe and kprobe.multi have it"},
		{ebpf.Kprobe, entered, "runs programs that were loaded for it"},
	} {
		prog, _ := cookieSum(t, test.typ, ebpf.AttachNone)
		if _, err := attach.AttachProbes(prog, []reader.Probe{test.probe}, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v at %v: got error %v, want %q", test.typ, test.probe.Kind, err, test.want)
		}
	}
	prog, _ := cookieSum(t, ebpf.TracePoint, ebpf.AttachNone)
	_, err := attach.AttachProbes(prog, []reader.Probe{traced}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{os.Getpid()}}})
	if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "PIDs" {
		t.Errorf("in one process: got error %v, want an OptionError of PIDs", err)
	}
}
