package attach

import (
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
func (p *programs) inKernel() bool { return len(p.links) > 0 }

// linkTo returns the kind of link by which a site of the kernel is attached to.
func (p *programs) linkTo(probe *reader.Probe) link.Kind {
	if probe.Kind.ByTrampoline() && probe.Provider != kernfunc.Kernel {
		return link.TrampolineOne // a program for many is for the kernel's own
	}
	return p.links[probe.Kind]
}

// kernelHook returns the hook at a site of the kernel.
func (p *programs) kernelHook(probe *reader.Probe) query.Hook {
	kind := p.linkTo(probe)
	hook := query.Hook{Type: kind.ProgramType(), Attach: kind.AttachType(), Kernel: true}
	when := link.AtEntry
	if probe.Kind.IsReturn() {
		when = link.AtReturn
	}
	switch {
	case kind == link.TrampolineMany:
		hook.Attach = when.Many()
	case kind == link.TrampolineOne:
		hook.Attach, hook.Function = when.Single(), probe.Kernel.Types().Type
	case probe.Kind.HasFields():
		hook.Record = tracepoint.End(probe.Kernel.Fields)
	}
	return hook
}

// slow reports whether links are slow to close.
func (p *programs) slow() bool {
	slow := p.kind.Slow()
	for _, kind := range p.links {
		slow = slow || kind.Slow()
	}
	return slow
}

// measureReturns finds out where the kernel's returns have the stack pointer, if calls are matched by it.
func (p *programs) measureReturns(layout *bind.Layout) (err error) {
	if layout != nil && layout.Pairs != nil && layout.Pairs.KernelCalls() {
		layout.Pairs.KernelReturn, err = p.links[layout.Pairs.Start.Kind].ReturnShift()
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
		if p := &plan[i].Probe; p.Kind.ByTrampoline() && plan[i].Reason == nil && t.programs.linkTo(p) == link.TrampolineOne {
			single++
		}
	}
	if single > link.MaxSingle {
		return &OptionError{"Force", fmt.Errorf("it is not set, and %d functions are attached to by a trampoline and a program each, for which the kernel takes 0.1 s (Linux 7.2 has links of many, except in modules): kprobe: is for many functions; without Force the most is %d", single, link.MaxSingle)}
	}
	return optionError("Force", plan.CheckKernel(t.programs.linkTo))
}

// checkKernelKinds returns an error if this kernel lacks what selectors of its functions take.
func checkKernelKinds(selectors []selector.Selector) error {
	for i := range selectors {
		if k := selectors[i].Kind; k.InKernel() {
			if err := link.CheckKernel(k); err != nil {
				return err
			}
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
