package site

import (
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/reader"
)

// Limits on functions of the kernel, beyond which attaching has to be forced.
const (
	maxKernel      = 10_000
	maxKernelSlow  = 100                    // by perf events,
	kernelSlowness = 230 * time.Millisecond // each of which takes that, to attach and detach
)

// CheckKernel returns why attaching to the functions of the kernel in a plan has to be forced; nil if
// it has not. linkTo returns the kind of the link to each.
func (p Plan) CheckKernel(linkTo func(*reader.Probe) link.Kind) error {
	n, kprobes := 0, 0
	for i := range p {
		if !p[i].Probe.Kind.InKernel() {
			continue
		}
		if n++; linkTo(&p[i].Probe) == link.KernelPerf {
			kprobes++
		}
	}
	switch {
	case kprobes > maxKernelSlow:
		return fmt.Errorf("it is not set, and perf events, instead of kprobe_multi links, are attached one after the other: %d functions take some %v to attach and detach; without Force the most is %d", kprobes, time.Duration(kprobes)*kernelSlowness, maxKernelSlow)
	case n > maxKernel:
		return fmt.Errorf("it is not set, and %d functions of the kernel slow down the whole machine; without Force the most is %d", n, maxKernel)
	}
	return nil
}
