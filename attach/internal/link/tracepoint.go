package link

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// tracepointEvents attaches by one perf event per tracepoint of the kernel, whose number is the offset of its
// site.
var tracepointEvents = mechanism{name: "perf event on a tracepoint", program: ebpf.TracePoint, attachment: ebpf.AttachNone, slow: true, attach: attachPerf}

// tracepointError explains why the kernel refused a tracepoint.
func tracepointError(err error) error {
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("the program is attached to this tracepoint already, where the kernel runs it once: %w", err)
	}
	return fmt.Errorf("the kernel does not let programs be attached to this tracepoint, or its module is gone: %w", err)
}
