package load

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// AddGroups creates the maps of groups.
func (m *Maps) AddGroups(l *bind.Layout) (err error) {
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
	if m.Zeros == nil {
		if err = m.addZeros(8 * l.Words()); err != nil {
			return err
		}
	}
	if l.Wanted.Hist && l.Wanted.Bounds != nil {
		if m.Bounds, err = newBounds(l.Wanted.Bounds, l.Value.Kind); err != nil {
			return err
		}
	}
	return nil
}

// AddPairs creates the maps of starts.
func (m *Maps) AddPairs(l *bind.Layout) error {
	words := 0
	if !l.Whole() {
		words = l.Words()
	}
	if err := m.addZeros(max(8*words, query.StartsSize)); err != nil {
		return err
	}
	return m.addStarts(l.Pairs)
}

// AdoptGroups takes what addGroups has made from a copy. Other maps are there from the start and
// are used with nothing locked.
func (m *Maps) AdoptGroups(from *Maps) {
	m.Groups, m.Other, m.Stacks, m.Control, m.Zeros = from.Groups, from.Other, from.Stacks, from.Control, from.Zeros
	m.Bounds, m.Starts, m.StartArgs, m.Times = from.Bounds, from.Starts, from.StartArgs, from.Times
}

// addZeros creates the map of what is new in others.
func (m *Maps) addZeros(size int) (err error) {
	m.Zeros, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_zeros", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1})
	return err
}

// newBounds creates the table in which programs look for a value's bucket.
func newBounds(bounds []float64, kind reader.FieldKind) (*ebpf.Map, error) {
	table := query.BoundsTable(bounds, kind)
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: "usdt_bounds", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(len(table)), MaxEntries: 1,
		Contents: []ebpf.MapKV{{Key: uint32(0), Value: table}},
	})
	if err != nil {
		return nil, fmt.Errorf("create the bounds of the histogram: %w", err)
	}
	return m, nil
}

// TakeGroups calls add with the groups in a map that no program updates, several times for a group
// that CPUs have words of each, and empties the map.
func TakeGroups(m *ebpf.Map, l *bind.Layout, add func(key string, words []byte)) error {
	if l.KeySize > 0 {
		if err := takeAll(m, l, add); err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		return reserveOther(m, l)
	}
	var perCPU [][]byte
	if err := m.Lookup(uint32(0), &perCPU); err != nil {
		return fmt.Errorf("read groups: %w", err)
	}
	empty := make([][]byte, len(perCPU))
	for cpu := range empty {
		empty[cpu] = make([]byte, len(perCPU[cpu]))
	}
	if err := m.Put(uint32(0), empty); err != nil {
		return fmt.Errorf("empty groups: %w", err)
	}
	for _, words := range perCPU {
		add("", words)
	}
	return nil
}

// batchBytes is how many bytes of groups are asked for at once.
const batchBytes = 4 << 20

// takeAll takes all groups out of a map.
func takeAll(m *ebpf.Map, l *bind.Layout, add func(key string, words []byte)) error {
	each := 1
	if !l.Shared() {
		each = l.CPUs
	}
	size := int(m.ValueSize())
	keyType := reflect.SliceOf(reflect.ArrayOf(int(m.KeySize()), reflect.TypeFor[byte]()))
	valueType := reflect.SliceOf(reflect.ArrayOf(size, reflect.TypeFor[byte]()))
	batch := min(int(m.MaxEntries()), max(64, batchBytes/(each*size)))
	var cursor ebpf.MapBatchCursor
	for {
		keys, values := reflect.MakeSlice(keyType, batch, batch), reflect.MakeSlice(valueType, batch*each, batch*each)
		for again := true; again; {
			n, err := m.BatchLookupAndDelete(&cursor, keys.Interface(), values.Interface(), nil)
			if errors.Is(err, unix.ENOSPC) {
				break // a bucket of the map has more
			}
			if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return err
			}
			for i := range n {
				key := string(keys.Index(i).Bytes())
				for j := range each {
					add(key, values.Index(i*each+j).Bytes())
				}
			}
			if err != nil {
				return nil
			}
		}
		batch *= 2
	}
}
