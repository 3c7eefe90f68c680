package codegen

import (
	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/kernel"
)

// Refs are what the programs of a session refer to. What is nil is not there, and
// programs do without it.
type Refs struct {
	Ring      *ebpf.Map            // of records; nil to aggregate
	Counters  *ebpf.Map            // per CPU, see CounterFired
	Scratch   *ebpf.Map            // for records that are put together first
	Stopped   *ebpf.Map            // u64: not 0 when programs shall do nothing any more
	Namespace *kernel.PIDNamespace // whose PIDs are meant; nil for the initial one
	Processes *ebpf.Map            // by PID: when each one was started; nil for all processes
	Lifetimes bool                 // processes are told apart by when they were started
	Selected  *Selected            // nil for all processes

	// For aggregates:
	Groups  [2]*ebpf.Map // programs update one while the other is read
	Control *ebpf.Map    // u64: which one
	Zeros   *ebpf.Map    // a new group
	Bounds  *ebpf.Map    // of a histogram's buckets; nil for powers of two
	Starts  *ebpf.Map    // that wait for their end, by key
	Noted   *ebpf.Map    // at starts, by key and number
}
