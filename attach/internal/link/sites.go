package link

import "github.com/go-usdt/usdt/reader"

// way is how programs are attached to sites of the kernel.
type way struct {
	// choose returns the kind of links, the one that is like want if there are several.
	choose func(want Kind) (Kind, error)
	// check returns an error if the kernel has none, without privileges if possible.
	check func() error
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
