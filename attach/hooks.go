package attach

import (
	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/kernel"
)

// hooks are what programs have to be for each kind of link.
var hooks = map[LinkKind]hook{
	MultiLink: {typ: ebpf.Kprobe, attach: ebpf.AttachTraceUprobeMulti},
	PerfLink:  {typ: ebpf.Kprobe},
}

// hook returns what programs have to be for a link of this kind. Those of all kinds
// may sleep, where the kernel lets them.
func (k LinkKind) hook() hook {
	h := hooks[k]
	h.sleeps = kernel.Sleepable.Require() == nil
	return h
}
