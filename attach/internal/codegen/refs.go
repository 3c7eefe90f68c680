package codegen

import (
	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/selected"
	"github.com/go-usdt/usdt/internal/kernel"
)

// Refs are the maps and descriptions that the programs of a session refer to.
// Programs do without the ones that are nil.
type Refs struct {
	Ring      *ebpf.Map            // of records, and of pairs; nil to aggregate
	CPUs      int                  // how many are possible
	Counters  *ebpf.Map            // see CountersSpec and CounterFired
	Scratch   *ebpf.Map            // for records that are assembled first
	Stopped   *ebpf.Map            // u64: not 0 while programs must do nothing; u64: starts from before have no ends here
	Gate      *ebpf.Map            // as Stopped, for these programs only; nil without
	Namespace *kernel.PIDNamespace // whose PIDs are meant; nil for the initial one
	Processes *ebpf.Map            // by PID: when each one was started; nil for all processes
	Process   *ebpf.Map            // the only one, if Processes is nil: its PID and when it was started; nil for all processes
	Lifetimes bool                 // processes are also identified by when they were started
	Selected  *selected.Processes  // nil for all processes
	// ControlGroups names the ones in which probes fire; nil if nobody asks
	ControlGroups *Groups
	Faults        *ebpf.Map // see FaultsSpec; nil without a condition
	Signals       *Signals  // nil if programs send none

	// For aggregates:
	Groups    [2]*ebpf.Map         // programs update one while the other is read
	Other     *ebpf.Map            // the key of the group that adds up what finds the map full; nil without keys
	Stacks    [2]*ebpf.Map         // by hash: the stacks of each of Groups, see GroupStack; nil without
	Control   *ebpf.Map            // u64: which of Groups to update
	Zeros     *ebpf.Map            // a new group
	Bounds    *ebpf.Map            // of a histogram's buckets; nil for powers of two
	Starts    *ebpf.Map            // starts that wait for their end, by key
	StartArgs *ebpf.Map            // arguments, or records, that starts keep, by key and number
	Calls     kernel.CallFunctions // that programs for calls need
	Times     *ebpf.Map            // of pairs that are recorded, see TimesSpec; nil unless asked for

	Then *ebpf.Map // of one program, which runs behind each record; nil for none
}
