package link

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// tracepointEvents attaches by one perf event per tracepoint of the kernel, whose number is the offset of its
// site.
var tracepointEvents = mechanism{name: "perf event on a tracepoint", program: ebpf.TracePoint, attachment: ebpf.AttachNone, slow: true, attach: attachPerf, open: openOnTracepoint, explain: tracepointError}

func openOnTracepoint(a *attempt, s *Site) (fd int, err error) {
	return a.calls.OpenTracepoint(a.Group, s)
}

// onTracepoints is the way to tracepoints of the kernel, of which all kernels with tracefs have some.
var onTracepoints = way{
	choose:   func(Kind) (Kind, error) { return Tracepoint, nil },
	check:    func() error { return nil },
	programs: ebpf.TracePoint,
	sections: "tracepoint and tp",
}

// tracepointError explains why the kernel refused a tracepoint.
func tracepointError(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("the program is attached to this tracepoint already, where the kernel runs it once: %w", err)
	}
	return fmt.Errorf("the kernel does not let programs be attached to this tracepoint, or its module is gone: %w", err)
}
