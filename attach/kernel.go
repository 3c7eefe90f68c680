package attach

import (
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// Limits on functions of the kernel, beyond which attaching needs [Options.Force].
const (
	maxKernel      = 10_000
	maxKernelSlow  = 100                    // by perf events,
	kernelSlowness = 230 * time.Millisecond // each of which takes that, to attach and detach
)

// inKernel reports whether a selector names functions of the kernel.
func (p *programs) inKernel() bool { return p.kernel != link.Auto }

// slow reports whether links are slow to close.
func (p *programs) slow() bool { return p.kind.Slow() || p.kernel.Slow() }

// measureReturns finds out where the kernel's returns have the stack pointer, if calls are matched by it.
func (p *programs) measureReturns(layout *bind.Layout) (err error) {
	if layout != nil && layout.Pairs != nil && layout.Pairs.KernelCalls() {
		layout.Pairs.KernelReturn, err = p.kernel.ReturnShift()
	}
	return err
}

// checkKernel returns an error if there are too many functions of the kernel.
func (t *tracing) checkKernel(plan site.Plan) error {
	n := 0
	for i := range plan {
		if plan[i].Probe.Kind.InKernel() {
			n++
		}
	}
	if t.programs == nil || t.options.Force || n <= maxKernelSlow {
		return nil
	}
	switch {
	case t.programs.kernel.Slow():
		return &OptionError{"Force", fmt.Errorf("it is not set, and this kernel attaches to its functions one after the other (it has no kprobe_multi links): %d functions take some %v to attach and detach; without Force the most is %d", n, time.Duration(n)*kernelSlowness, maxKernelSlow)}
	case n > maxKernel:
		return &OptionError{"Force", fmt.Errorf("it is not set, and %d functions of the kernel slow down the whole machine; without Force the most is %d", n, maxKernel)}
	}
	return nil
}

// Hot returns how many functions of the kernel patterns leave out because they run all the time, or
// while programs run. Their exact names select them.
func (t *tracing) Hot() int {
	if t.discover == nil {
		return 0
	}
	return t.discover.Hot()
}
