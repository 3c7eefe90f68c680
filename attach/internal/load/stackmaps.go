package load

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// MaxStacks returns how many stacks there is room for, until groups are read.
func MaxStacks(l *bind.Layout) uint64 { return uint64(min(l.Room()+1, 1<<16)) }

// addStacks creates the maps of the stacks that groups have.
func (m *Maps) addStacks(l *bind.Layout) (err error) {
	if l.StackPart() == nil {
		return nil
	}
	spec := ebpf.MapSpec{
		Name: "usdt_stacks", Type: ebpf.Hash, KeySize: 8, ValueSize: uint32(query.GroupStackSize(l.Stack)), MaxEntries: uint32(MaxStacks(l)),
	}
	for i := range m.Stacks {
		if m.Stacks[i], err = ebpf.NewMap(&spec); err != nil {
			return fmt.Errorf("create a map of %d stacks: %w", spec.MaxEntries, err)
		}
	}
	return nil
}

// stackBatch is how many stacks are asked for at once.
const stackBatch = 512

// batchLookup is one of [ebpf.Map]'s.
type batchLookup func(cursor *ebpf.MapBatchCursor, keys, values any, opts *ebpf.BatchOptions) (int, error)

// EachStack calls f with the stacks in a map.
func EachStack(m *ebpf.Map, next batchLookup, f func(hash uint64, value []byte) error) error {
	valueType := reflect.SliceOf(reflect.ArrayOf(int(m.ValueSize()), reflect.TypeFor[byte]()))
	var cursor ebpf.MapBatchCursor
	for batch := min(stackBatch, int(m.MaxEntries())); ; {
		keys, values := make([]uint64, batch), reflect.MakeSlice(valueType, batch, batch)
		n, err := next(&cursor, keys, values.Interface(), nil)
		if errors.Is(err, unix.ENOSPC) {
			batch *= 2 // a bucket of the map has more
			continue
		}
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("read stacks: %w", err)
		}
		for i := range n {
			value := make([]byte, m.ValueSize())
			reflect.Copy(reflect.ValueOf(value), values.Index(i))
			if err := f(keys[i], value); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
