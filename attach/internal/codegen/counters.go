package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Counters of events, one set per CPU: offsets in [CountersOf] a CPU.
const (
	// Each event is counted once, as one of these, or as entered. A start or an end is counted as
	// fired when it fires, and may be counted as lost or filtered as well.
	CounterFired    = 0
	CounterLost     = 8
	CounterFiltered = 16

	// Two counters: programs that have begun to update each of Refs.Groups. The first counts
	// all events if that is all that is asked for, see Aggregate.OnlyCounts.
	CounterEntered = 24

	// Starts and ends, see PairStats of package attach:
	CounterStarted   = 40 // starts that were kept
	CounterTooDeep   = 48 // of these, starts that took the place of an outer one
	CounterMatched   = 56 // ends that found their start
	CounterDropped   = 64 // starts whose pair is not wanted, at one of its ends
	CounterUnstarted = 72 // ends that found no start

	// Pairs that are recorded:
	CounterFast   = 80 // pairs that took no longer than Aggregate.Slower
	CounterUnkept = 88 // pairs whose start's record was evicted to make room
	CounterFull   = 96 // pairs that were lost because the ring was full

	CounterGroups = 104 // groups that were new, or found the map full

	CounterStacks = 112 // stacks that were new to Refs.Stacks, or found it full

	CounterLeft = 120 // two counters: programs that have updated each of Refs.Groups

	CounterTorn = 136 // starts from before these programs began, when others fired unseen

	CounterCalled = 144 // calls that have begun and not returned, see enterCall

	CounterReplaced = 152 // starts whose place a later one took, see Aggregate.Flat

	CountersSize = 160

	countersRoom = 256 // no two CPUs share cache lines, nor pairs of these
)

// CountersSpec describes Refs.Counters: an array with one value, in which each CPU has room.
// Programs have the address of that value. A lookup in a per-CPU map would also have to read the
// map's head and a table of addresses, which takes longer than to count.
func CountersSpec(cpus int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "usdt_counters", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(cpus * countersRoom), MaxEntries: 1}
}

// CountersOf returns the counters of a CPU in the value of Refs.Counters.
func CountersOf(value []byte, cpu int) []byte { return value[cpu*countersRoom:][:CountersSize] }

// loadCounters puts the address of the CPU's counters into regCounters. A program stays on its
// CPU. It changes R0.
func (g *generator) loadCounters() {
	g.emit(
		asm.FnGetSmpProcessorId.Call(),
		asm.JGE.Imm(asm.R0, int32(g.refs.CPUs), "exit"), // for the verifier
		asm.Mul.Imm(asm.R0, countersRoom),
		asm.LoadMapValue(regCounters, g.refs.Counters.FD(), 0),
		asm.Add.Reg(regCounters, asm.R0),
	)
}
