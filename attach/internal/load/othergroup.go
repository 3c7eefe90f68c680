package load

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/tally"
)

// addOther creates the map with the key of the group in which programs add up events
// that find the map full, and makes that group in each map of groups.
func (m *Maps) addOther(l *bind.Layout) (err error) {
	if l.KeySize == 0 {
		return nil
	}
	m.Other, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_other", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(l.KeySize), MaxEntries: 1})
	if err == nil {
		err = m.Other.Put(uint32(0), []byte(tally.OtherKey(l.KeySize)))
	}
	if err != nil {
		return fmt.Errorf("create the key of other groups: %w", err)
	}
	for _, groups := range m.Groups {
		if err := reserveOther(groups, l); err != nil {
			return err
		}
	}
	return nil
}

// reserveOther makes the group in which programs add up events that find a map full.
func reserveOther(m *ebpf.Map, l *bind.Layout) error {
	words := make([]byte, 8*l.Words())
	var value any = words
	if m.Type() == ebpf.PerCPUHash {
		cpus := make([][]byte, l.CPUs)
		for i := range cpus {
			cpus[i] = words
		}
		value = cpus
	}
	if err := m.Put([]byte(tally.OtherKey(l.KeySize)), value); err != nil {
		return fmt.Errorf("reserve the group of others: %w", err)
	}
	return nil
}
