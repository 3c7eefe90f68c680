package link

import "github.com/cilium/ebpf"

// tracepointEvents attaches by one perf event per tracepoint of the kernel, whose number is the offset of its
// site.
var tracepointEvents = mechanism{name: "perf event on a tracepoint", program: ebpf.TracePoint, attachment: ebpf.AttachNone, slow: true, attach: attachPerf, open: openOnTracepoint}

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
