package attach

import (
	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/kernel"
)

// refs are what the programs of a session refer to. What is nil is not there, and
// programs do without it.
type refs struct {
	ring      *ebpf.Map            // of records; nil to aggregate
	counters  *ebpf.Map            // per CPU, see counterFired
	scratch   *ebpf.Map            // for records that are put together first
	stopped   *ebpf.Map            // u64: not 0 when programs shall do nothing any more
	namespace *kernel.PIDNamespace // whose PIDs are meant; nil for the initial one
	processes *ebpf.Map            // by PID: when each one was started; nil for all processes
	lifetimes bool                 // processes are told apart by when they were started
	selected  *selected            // nil for all processes

	// For aggregates:
	groups  [2]*ebpf.Map // programs update one while the other is read
	control *ebpf.Map    // u64: which one
	zeros   *ebpf.Map    // a new group
	bounds  *ebpf.Map    // of a histogram's buckets; nil for powers of two
	starts  *ebpf.Map    // that wait for their end, by key
	noted   *ebpf.Map    // at starts, by key and number
}
