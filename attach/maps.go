package attach

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Counters of events, one set per CPU: offsets in a value of maps.counters.
const (
	counterFired    = 0
	counterLost     = 8
	counterFiltered = 16
	counterBusy     = 24 // two: programs that are updating each of maps.groups
	countersSize    = 40
)

// maps are what the programs of a session share.
type maps struct {
	ring     *ebpf.Map
	counters *ebpf.Map
	scratch  *ebpf.Map // nil if no program needs it

	// For aggregates, which have no ring; nil until the first site is known:
	groups  [2]*ebpf.Map // the programs update one while the other is read
	control *ebpf.Map    // u64: which one
	zeros   *ebpf.Map    // a new group
	bounds  *ebpf.Map    // of a histogram's buckets; nil for powers of two
}

// newMaps creates the maps; ringSize is a power of two and a multiple of the
// page size, scratchSize 0 without strings, and events false to aggregate.
func newMaps(ringSize, scratchSize int, events bool) (m *maps, err error) {
	m = &maps{}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if events {
		m.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_events", Type: ebpf.RingBuf, MaxEntries: uint32(ringSize)})
		if err != nil {
			return nil, fmt.Errorf("create a ring buffer of %d bytes: %w", ringSize, err)
		}
	}
	m.counters, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_counters", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: countersSize, MaxEntries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("create counters: %w", err)
	}
	if err := m.addScratch(scratchSize); err != nil {
		return nil, err
	}
	return m, nil
}

// addScratch creates the scratch memory.
func (m *maps) addScratch(size int) (err error) {
	if size == 0 {
		return nil
	}
	m.scratch, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_scratch", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(size), MaxEntries: scratchSlots,
	})
	if err != nil {
		return fmt.Errorf("create scratch memory of %d bytes: %w", size, err)
	}
	return nil
}

func (m *maps) Close() error {
	for _, e := range []*ebpf.Map{m.ring, m.counters, m.scratch, m.groups[0], m.groups[1], m.control, m.zeros, m.bounds} {
		if e != nil {
			e.Close()
		}
	}
	return nil
}

// count returns the sums over all CPUs.
func (m *maps) count() (fired, lost, filtered uint64, err error) {
	var perCPU [][countersSize / 8]uint64
	if err := m.counters.Lookup(uint32(0), &perCPU); err != nil {
		return 0, 0, 0, fmt.Errorf("read event counters: %w", err)
	}
	for _, c := range perCPU {
		fired += c[counterFired/8]
		lost += c[counterLost/8]
		filtered += c[counterFiltered/8]
	}
	return fired, lost, filtered, nil
}

// busy says that programs may still be updating groups[epoch], which is not in
// use any more. A program stays on its CPU, and announces itself before it asks
// again which groups are in use: each CPU's number needs to be 0 only once.
func (m *maps) busy(epoch uint64) (bool, error) {
	var perCPU [][countersSize / 8]uint64
	if err := m.counters.Lookup(uint32(0), &perCPU); err != nil {
		return false, fmt.Errorf("read event counters: %w", err)
	}
	for _, c := range perCPU {
		if c[counterBusy/8+epoch] != 0 {
			return true, nil
		}
	}
	return false, nil
}
