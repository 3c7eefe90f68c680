package attach

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/go-usdt/usdt/attach/internal/codegen"
)

// addGroups creates the maps of groups.
func (m *maps) addGroups(l *aggregateLayout) (err error) {
	spec := ebpf.MapSpec{
		Name: "usdt_groups", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(8 * l.words()), MaxEntries: 1,
	}
	if l.keySize > 0 {
		spec.Type, spec.KeySize, spec.MaxEntries = ebpf.PerCPUHash, uint32(l.keySize), uint32(l.maxGroups())
	}
	if l.shared() {
		spec.Type = ebpf.Hash
	}
	for i := range m.Groups {
		if m.Groups[i], err = ebpf.NewMap(&spec); err != nil {
			return fmt.Errorf("create groups: %w", err)
		}
	}
	m.Control, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_control", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return err
	}
	m.Zeros, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_zeros", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(max(8*l.words(), codegen.StartsSize)), MaxEntries: 1})
	if err != nil {
		return err
	}
	if l.wanted.hist && l.wanted.bounds != nil {
		if m.Bounds, err = newBounds(l.wanted.bounds, l.value.Kind, l.value.Size); err != nil {
			return err
		}
	}
	if l.pairs != nil {
		if err = m.addStarts(l.pairs); err != nil {
			return err
		}
	}
	l.made = true
	return nil
}
