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
	countersSize    = 24
)

// maps are what the programs of a session share.
type maps struct {
	ring     *ebpf.Map
	counters *ebpf.Map
	scratch  *ebpf.Map // nil if no program needs it
}

// newMaps creates the maps; ringSize is a power of two and a multiple of the
// page size, scratchSize 0 without strings.
func newMaps(ringSize, scratchSize int) (m *maps, err error) {
	m = &maps{}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	m.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_events", Type: ebpf.RingBuf, MaxEntries: uint32(ringSize)})
	if err != nil {
		return nil, fmt.Errorf("create a ring buffer of %d bytes: %w", ringSize, err)
	}
	m.counters, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_counters", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: countersSize, MaxEntries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("create counters: %w", err)
	}
	if scratchSize > 0 {
		m.scratch, err = ebpf.NewMap(&ebpf.MapSpec{
			Name: "usdt_scratch", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(scratchSize), MaxEntries: scratchSlots,
		})
		if err != nil {
			return nil, fmt.Errorf("create scratch memory of %d bytes: %w", scratchSize, err)
		}
	}
	return m, nil
}

func (m *maps) Close() error {
	for _, e := range []*ebpf.Map{m.ring, m.counters, m.scratch} {
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
