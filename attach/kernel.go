package attach

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// inKernel reports whether a selector names functions or tracepoints of the kernel.
func (p *programs) inKernel() bool {
	return p.kernel != link.Auto || p.trampoline != link.Auto || p.events
}

// errAllTrampolines is the error for a selector of all functions by trampolines.
var errAllTrampolines = errors.New("a trampoline at each of the kernel's functions takes the kernel minutes to make and slows down the whole machine: name them by more than *, or take kprobe: instead")

// trampolineOf returns the kind of link by which a function of the kernel is attached to.
func (p *programs) trampolineOf(probe *reader.Probe) link.Kind {
	if probe.Provider != kernfunc.Kernel {
		return link.TrampolineOne // a program for many is for the kernel's own
	}
	return p.trampoline
}

// kernelHook returns the hook at a function or a tracepoint of the kernel.
func (p *programs) kernelHook(probe *reader.Probe) query.Hook {
	if probe.Kind == reader.Tracepoint {
		return query.Hook{Type: link.Tracepoint.ProgramType(), Attach: link.Tracepoint.AttachType(), Kernel: true, Record: tracepoint.End(probe.Kernel.Fields)}
	}
	if !probe.Kind.ByTrampoline() {
		return hookOf(p.kernel)
	}
	when := link.AtEntry
	if probe.Kind == reader.Fexit {
		when = link.AtReturn
	}
	hook := query.Hook{Type: link.TrampolineOne.ProgramType(), Attach: when.Many(), Kernel: true}
	if p.trampolineOf(probe) == link.TrampolineOne {
		hook.Attach, hook.Function = when.Single(), probe.Kernel.Types().Type
	}
	return hook
}

// slow reports whether links are slow to close.
func (p *programs) slow() bool { return p.kind.Slow() || p.kernel.Slow() || p.events }

// measureReturns finds out where the kernel's returns have the stack pointer, if calls are matched by it.
func (p *programs) measureReturns(layout *bind.Layout) (err error) {
	if layout != nil && layout.Pairs != nil && layout.Pairs.KernelCalls() {
		layout.Pairs.KernelReturn, err = p.kernel.ReturnShift()
	}
	return err
}

// checkKernel returns an error if there are too many functions of the kernel.
func (t *tracing) checkKernel(plan site.Plan) error {
	if t.programs == nil || t.options.Force {
		return nil
	}
	single := 0
	for i := range plan {
		p := &plan[i].Probe
		if p.Kind.ByTrampoline() && plan[i].Reason == nil && t.programs.trampolineOf(p) == link.TrampolineOne {
			single++
		}
	}
	if single > link.MaxSingle {
		return &OptionError{"Force", fmt.Errorf("it is not set, and %d functions are attached to by a trampoline and a program each, for which the kernel takes 0.1 s (Linux 7.2 has links of many, except in modules): kprobe: is for many functions; without Force the most is %d", single, link.MaxSingle)}
	}
	return optionError("Force", plan.CheckKernel(t.programs.kernel.Slow()))
}

// checkKernelKinds returns an error if this kernel lacks what selectors of its functions take.
func checkKernelKinds(selectors []selector.Selector) (err error) {
	for i := range selectors {
		switch k := selectors[i].Kind; {
		case k == reader.Tracepoint:
		case k.ByTrampoline():
			_, err = link.ChooseTrampolines()
		case k.InKernel():
			err = link.CheckKprobes()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Hot returns how many functions and tracepoints of the kernel patterns leave out because they run all the time, or
// while programs run. Their exact names select them.
func (t *tracing) Hot() int {
	if t.discover == nil {
		return 0
	}
	return t.discover.Hot()
}

// unpatched returns functions of the kernel to which no trampoline can be attached.
func (p *programs) unpatched() []uint32 { return p.discover.Unpatched() }
