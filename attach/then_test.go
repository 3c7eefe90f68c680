package attach_test

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/argasm"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/reader"
)

// adder returns a program that adds up the first argument of a probe, and a function that returns the sum.
func adder(t *testing.T, p *reader.Probe, at ebpf.AttachType) (*ebpf.Program, func() uint64) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	t.Cleanup(func() { m.Close() })
	arg, err := argasm.Reader{Failed: "exit"}.Arg(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	ins := append(asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, arg...)
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: at, License: "GPL", Instructions: append(ins,
		asm.LoadMapValue(asm.R1, m.FD(), 0),
		asm.AddAtomic.Mem(asm.R1, asm.R0, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return(),
	)})
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

// TestThen has a program of the caller's run at the events that a condition selects, of records with
// text and without, by each kind of link.
func TestThen(t *testing.T) {
	p := provider.New("then", nil)
	t.Cleanup(func() { p.Close() })
	plain := provider.NewProbe1[int](p, "plain", "n")
	text := provider.NewProbe2[int, string](p, "text", "n", "s")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	fire := func() {
		for n := range 10 {
			plain.Fire(n)
			text.Fire(n, "some text")
		}
	}
	opts := attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Where: "n % 2 == 1"}
	for _, kind := range []struct {
		name string
		link attach.LinkKind
		at   ebpf.AttachType
	}{{"multi", attach.MultiLink, ebpf.AttachTraceUprobeMulti}, {"perf", attach.PerfLink, ebpf.AttachNone}} {
		t.Run(kind.name, func(t *testing.T) {
			opts := opts
			opts.Link = kind.link
			for _, name := range []string{"plain", "text"} {
				found := live.Probe(t, os.Getpid(), "then:"+name)
				prog, sum := adder(t, &found, kind.at)
				s, err := attach.OpenEvents(t.Context(), []string{"then:" + name}, &attach.EventOptions{Then: prog}, &opts)
				if err != nil {
					needPrivileges(t, err)
					needMulti(t, err)
					t.Fatal(err)
				}
				fire()
				if n := len(drain(t, s)); n != 5 {
					t.Errorf("%d events of %s, want 5", n, name)
				}
				if got := sum(); got != 1+3+5+7+9 {
					t.Errorf("the program at %s adds up %d, want 25", name, got)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				fire()
				if got := sum(); got != 25 {
					t.Errorf("after Close it has added up %d", got)
				}
			}
		})
	}
}

// TestThenRefused refuses programs that cannot run behind others, and where there are none.
func TestThenRefused(t *testing.T) {
	p := provider.New("thenrefused", nil)
	t.Cleanup(func() { p.Close() })
	provider.NewProbe1[int](p, "plain", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	found := live.Probe(t, os.Getpid(), "thenrefused:plain")
	own, _ := adder(t, &found, ebpf.AttachNone)
	other, _ := cookieSum(t, ebpf.TracePoint, ebpf.AttachNone)
	for name, test := range map[string]struct {
		then *ebpf.Program
		via  attach.Via
	}{
		"a type":        {other, attach.ViaAny},
		"shared memory": {own, attach.ViaLocal},
		"both":          {own, attach.ViaBoth},
	} {
		var option *attach.OptionError
		err := (&attach.EventOptions{Then: test.then}).Validate(&attach.Options{Target: attach.Target{Via: test.via}})
		if !errors.As(err, &option) || option.Option != "Then" {
			t.Errorf("%s: %v, want an error of Then", name, err)
		}
	}
}

// TestThenOtherLink gives a session a program for another kind of link: newer kernels refuse it.
func TestThenOtherLink(t *testing.T) {
	p := provider.New("thenother", nil)
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe1[int](p, "plain", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	found := live.Probe(t, os.Getpid(), "thenother:plain")
	prog, sum := adder(t, &found, ebpf.AttachNone)
	s, err := attach.OpenEvents(t.Context(), []string{"thenother:plain"}, &attach.EventOptions{Then: prog}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}}, Link: attach.MultiLink})
	var option *attach.OptionError
	switch {
	case errors.As(err, &option) && option.Option == "Then", errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, os.ErrPermission):
		t.Log(err)
		return
	case err != nil:
		t.Fatal(err)
	}
	defer s.Close()
	probe.Fire(7)
	if n := len(drain(t, s)); n != 1 || sum() != 7 {
		t.Errorf("%d events, sum %d; want 1 and 7", n, sum())
	}
}

// TestTracepointThen refuses a program behind the records of tracepoints.
func TestTracepointThen(t *testing.T) {
	needs.Tracepoints(t)
	prog, _ := cookieSum(t, ebpf.Kprobe, ebpf.AttachNone)
	_, err := attach.OpenEvents(t.Context(), []string{"tracepoint:syscalls:sys_enter_mkdirat"}, &attach.EventOptions{Then: prog}, nil)
	if option := (*attach.OptionError)(nil); !errors.As(err, &option) || option.Option != "Then" {
		t.Errorf("got error %v, want one of Then", err)
	}
}
