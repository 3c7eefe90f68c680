package link

import (
	"context"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/reader"
)

// Kind is a mechanism by which programs are attached. The values equal
// attach.LinkKind's.
type Kind int

const (
	Auto  Kind = iota // the first of the following that the kernel has
	Multi             // see multi.go
	Perf              // see perf.go

	// For sites of the kernel, see [ChooseKernel]: functions,
	KernelMulti // see kernelmulti.go
	KernelPerf  // see kernelperf.go

	// functions by trampolines, whose programs have the attach types of a [When],
	TrampolineMany // links of many functions
	TrampolineOne  // a link for each function, as the program is

	// and tracepoints.
	Tracepoint // see tracepoint.go
)

// mechanisms has the mechanism of each kind, the best first.
var mechanisms = [...]mechanism{
	Auto:  {name: "auto"},
	Multi: multiLinks,
	Perf:  perfEvents,

	KernelMulti: kernelMultiLinks,
	KernelPerf:  kernelEvents,

	TrampolineMany: {name: "tracing_multi", program: ebpf.Tracing, attach: attachTrampolines},
	TrampolineOne:  {name: "tracing", program: ebpf.Tracing, attach: attachTrampolines},

	Tracepoint: tracepointEvents,
}

// mechanism is what a kind of link is and does.
type mechanism struct {
	name string
	// program and attachment are the types that programs are loaded with.
	program    ebpf.ProgramType
	attachment ebpf.AttachType
	// usable returns nil if the kernel has such links, restricted to a process if
	// filtered, ebpf.ErrNotSupported if it has none, and another error if the
	// kernel could not be asked. A nil function means that every kernel has them.
	usable func(filtered bool) error
	// since says which kernels have them.
	since string
	// slow says that the kernel takes long to close them.
	slow bool
	// led says that they belong to the first thread of a process, and end with it unnoticed.
	led bool
	// attach attaches the group of the attempt. Its error concerns the whole group.
	attach func(ctx context.Context, a *attempt) error
	// open opens the perf event of a site for attachPerf.
	open func(a *attempt, s *Site) (fd int, err error)
}

func (k Kind) String() string {
	if k < 0 || k > Perf { // the others are nobody's choice
		return fmt.Sprintf("LinkKind(%d)", int(k))
	}
	return mechanisms[k].name
}

// ProgramType returns the type of programs for links of this kind.
func (k Kind) ProgramType() ebpf.ProgramType { return mechanisms[k].program }

// AttachType returns the attach type of programs for links of this kind.
func (k Kind) AttachType() ebpf.AttachType { return mechanisms[k].attachment }

// Slow reports whether the kernel takes long to close links of this kind, so that
// programs should be stopped before.
func (k Kind) Slow() bool { return mechanisms[k].slow }

// Led reports whether links of this kind belong to the first thread of a process, so that somebody
// has to watch it.
func (k Kind) Led() bool { return mechanisms[k].led }

// Check returns an error if there is no such kind.
func (k Kind) Check() error {
	if k < Auto || k > Perf {
		return fmt.Errorf("%d is no kind of link", int(k))
	}
	return nil
}

// Choose returns want, or the best kind for [Auto], if this kernel has it. filtered
// says that links will be restricted to a process.
func Choose(want Kind, filtered bool) (Kind, error) { return choose(want, Multi, Perf, filtered) }

func choose(want, first, last Kind, filtered bool) (Kind, error) {
	for k := first; k <= last; k++ {
		m := &mechanisms[k]
		if want != Auto && want != k {
			continue
		}
		if m.usable == nil {
			return k, nil
		}
		err := m.usable(filtered)
		switch {
		case err == nil:
			return k, nil
		case !errors.Is(err, ebpf.ErrNotSupported):
			return 0, privilege.Explain("ask the kernel for "+m.name, err)
		case want == k:
			return 0, fmt.Errorf("%s links: %w (%s)", m.name, ebpf.ErrNotSupported, m.since)
		}
	}
	return 0, fmt.Errorf("no links of kind %v", want)
}

// way is how programs are attached to sites of the kernel.
type way struct {
	// choose returns the kind of links, the one that is like want if there are several.
	choose func(want Kind) (Kind, error)
	// check returns an error if the kernel has none, without privileges if possible.
	check func() error
	// programs is the type of programs of the caller's that can be attached there, and sections how C names
	// it; empty if such a program is loaded for one site.
	programs ebpf.ProgramType
	sections string
}

// ways has the way for each kind of sites of the kernel (a test names what lacks).
var ways = map[reader.ProbeKind]way{
	reader.Kprobe:     kprobes,
	reader.Kretprobe:  kprobes,
	reader.Fentry:     byTrampoline,
	reader.Fexit:      byTrampoline,
	reader.Tracepoint: onTracepoints,
}

// ChooseKernel is Choose for a kind of sites of the kernel.
func ChooseKernel(of reader.ProbeKind, want Kind) (Kind, error) {
	return ways[of].choose(want)
}

// CheckKernel returns an error if this kernel does not let programs be attached to a kind of its sites.
func CheckKernel(of reader.ProbeKind) error {
	return ways[of].check()
}

// Programs returns the type of programs that sites of a kind run, and the sections of C that have it, which are
// empty if a program is loaded for one site.
func Programs(of reader.ProbeKind) (programs ebpf.ProgramType, sections string) {
	if way, ok := ways[of]; ok {
		return way.programs, way.sections
	}
	return ebpf.Kprobe, "uprobe and uprobe.multi"
}
