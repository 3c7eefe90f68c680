package attach

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// addGroups creates the maps of groups, or what pairs that are recorded need.
func (m *maps) addGroups(l *bind.Layout) (err error) {
	if l.Whole() {
		if err = m.addZeros(query.StartsSize); err == nil {
			err = m.addStarts(l.Pairs)
		}
		l.Made = err == nil
		return err
	}
	spec := ebpf.MapSpec{
		Name: "usdt_groups", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(8 * l.Words()), MaxEntries: 1,
	}
	if l.KeySize > 0 {
		spec.Type, spec.KeySize, spec.MaxEntries = ebpf.PerCPUHash, uint32(l.KeySize), uint32(l.Room()+1)
	}
	if l.Shared() {
		spec.Type = ebpf.Hash
	}
	for i := range m.Groups {
		if m.Groups[i], err = ebpf.NewMap(&spec); err != nil {
			return fmt.Errorf("create groups: %w", err)
		}
	}
	if err = m.addOther(l); err != nil {
		return err
	}
	if err = m.addStacks(l); err != nil {
		return err
	}
	m.Control, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_control", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	if err = m.addZeros(max(8*l.Words(), query.StartsSize)); err != nil {
		return err
	}
	if l.Wanted.Hist && l.Wanted.Bounds != nil {
		if m.Bounds, err = newBounds(l.Wanted.Bounds, l.Value.Kind, l.Value.Size); err != nil {
			return err
		}
	}
	if l.Pairs != nil {
		if err = m.addStarts(l.Pairs); err != nil {
			return err
		}
	}
	l.Made = true
	return nil
}

// adoptGroups takes what addGroups has made from a copy. Other maps are there from the start and
// are used with nothing locked.
func (m *maps) adoptGroups(from *maps) {
	m.Groups, m.Other, m.Stacks, m.Control, m.Zeros = from.Groups, from.Other, from.Stacks, from.Control, from.Zeros
	m.Bounds, m.Starts, m.StartArgs = from.Bounds, from.Starts, from.StartArgs
}

// addZeros creates the map of what is new in others.
func (m *maps) addZeros(size int) (err error) {
	m.Zeros, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_zeros", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1})
	return err
}
