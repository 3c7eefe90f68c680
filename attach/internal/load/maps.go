package load

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// counters are the sums over all CPUs.
type counters [codegen.CountersSize / 8]uint64

func (c *counters) At(off int) uint64 { return c[off/8] }

// Maps are what the programs of a session share.
type Maps struct {
	codegen.Refs
	Selection *selection     // nil for all processes
	forgotten *atomic.Uint64 // starts
}

// NewMaps creates the maps; ringSize is a power of two and a multiple of the
// page size, scratchSize 0 without strings, and events false to aggregate.
func NewMaps(ringSize, scratchSize int, events bool) (_ *Maps, err error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count CPUs: %w", err)
	}
	m := &Maps{forgotten: new(atomic.Uint64), Refs: codegen.Refs{Namespace: kernel.OwnPIDNamespace(), CPUs: cpus}}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if events {
		m.Ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_events", Type: ebpf.RingBuf, MaxEntries: uint32(ringSize)})
		if err != nil {
			return nil, fmt.Errorf("create a ring buffer of %d bytes: %w", ringSize, err)
		}
	}
	if m.Counters, err = ebpf.NewMap(codegen.CountersSpec(cpus)); err != nil {
		return nil, fmt.Errorf("create counters: %w", err)
	}
	if err := m.AddScratch(scratchSize); err != nil {
		return nil, err
	}
	return m, nil
}

// AddFaults makes room for what conditions cannot read.
func (m *Maps) AddFaults() (err error) {
	if m.Faults, err = ebpf.NewMap(codegen.FaultsSpec()); err != nil {
		return fmt.Errorf("create the map of faults: %w", err)
	}
	return nil
}

// AddFaultsTo adds what conditions could not read.
func (m *Maps) AddFaultsTo(all map[query.Fault]uint64) {
	if m.Faults == nil {
		return
	}
	var key [4]uint32
	var n uint64
	for faults := m.Faults.Iterate(); faults.Next(&key, &n); {
		all[codegen.FaultOf(key)] += n
	}
}

// AddScratch creates the scratch memory.
func (m *Maps) AddScratch(size int) (err error) {
	if size == 0 {
		return nil
	}
	m.Scratch, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_scratch", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(size), MaxEntries: codegen.ScratchSlots,
	})
	if err != nil {
		return fmt.Errorf("create scratch memory of %d bytes: %w", size, err)
	}
	return nil
}

// NewSwitch creates a map by which programs are told to do nothing, and tells them so if off.
func NewSwitch(off bool) (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_stopped", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err == nil && off {
		err = Turn(m, 1, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("create the switch of programs: %w", err)
	}
	return m, nil
}

// Turn turns a switch off, by 1, or on again, by 0. Starts from before a time have no ends
// then; 0 for none.
func Turn(m *ebpf.Map, off, since uint64) error {
	if err := m.Put(uint32(0), [2]uint64{off, since}); err != nil {
		return fmt.Errorf("switch programs: %w", err)
	}
	return nil
}

// AddSelection selects processes by what the kernel knows about each.
func (m *Maps) AddSelection(o *Selecting) (err error) {
	if m.Selection, err = newSelection(o); m.Selection != nil {
		m.Selected = &m.Selection.Processes
	}
	return err
}

// UseProcesses makes programs use a table of processes that is somebody else's.
func (m *Maps) UseProcesses(table *ebpf.Map) (err error) {
	m.Processes, err = table.Clone()
	m.Lifetimes = kernel.StartTimes.Require() == nil
	return err
}

// AddProcesses creates the table of the processes to trace.
func (m *Maps) AddProcesses(procs *process.Set) (err error) {
	if len(procs.PIDs) == 1 {
		m.Process, err = process.NewOnly(procs)
	} else {
		m.Processes, err = process.NewTable(procs, len(procs.PIDs))
	}
	m.Lifetimes = kernel.StartTimes.Require() == nil
	return err
}

// LeaveProcess makes programs no longer trace one of the processes of AddProcesses: it has ended.
func (m *Maps) LeaveProcess(pid int) error {
	if m.Process != nil {
		return process.LeaveOnly(m.Process)
	}
	return m.Processes.Delete(uint32(pid))
}

// Stop makes programs do nothing any more. Programs that run already go on.
func (m *Maps) Stop() error { return Turn(m.Stopped, 1, 0) }

func (m *Maps) Close() error {
	for _, e := range []*ebpf.Map{m.Ring, m.Counters, m.Scratch, m.Process, m.Processes, m.Stopped, m.Groups[0], m.Groups[1], m.Stacks[0], m.Stacks[1], m.Other, m.Control, m.Zeros, m.Bounds, m.Starts, m.StartArgs, m.Times, m.Faults, m.Then} {
		if e != nil {
			e.Close()
		}
	}
	if m.Signals != nil && m.Signals.Map != nil {
		m.Signals.Map.Close()
	}
	m.Selection.Close()
	return nil
}

func (m *Maps) Count() (sum counters, err error) {
	perCPU, err := m.perCPU()
	for i := range perCPU {
		for j, n := range perCPU[i] {
			sum[j] += n
		}
	}
	return sum, err
}

// perCPU returns the counters of each CPU, which programs may be adding to: the kernel copies
// the value by memcpy, which copies words that are aligned as a whole.
func (m *Maps) perCPU() ([]counters, error) {
	b, err := m.Counters.LookupBytes(uint32(0))
	if err != nil {
		return nil, fmt.Errorf("read event counters: %w", err)
	}
	all := make([]counters, m.CPUs)
	for i := range all {
		of := codegen.CountersOf(b, i)
		for j := range all[i] {
			all[i][j] = binary.NativeEndian.Uint64(of[8*j:])
		}
	}
	return all, nil
}

// Busy reports whether programs may still update groups[epoch], which is no
// longer in use. A program stays on its CPU, and announces itself before it reads
// again which groups are in use: each CPU's two numbers need to be equal only once. The
// numbers of programs that have left are read first: if as many have entered later, none
// was updating then.
func (m *Maps) Busy(epoch uint64) (bool, error) {
	left, err := m.perCPU()
	if err != nil {
		return false, err
	}
	entered, err := m.perCPU()
	if err != nil {
		return false, err
	}
	for cpu := range left {
		if left[cpu][codegen.CounterLeft/8+epoch] != entered[cpu][codegen.CounterEntered/8+epoch] {
			return true, nil
		}
	}
	return false, nil
}
