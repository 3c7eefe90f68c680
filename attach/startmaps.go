package attach

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
)

// addStarts creates the maps of starts and of the arguments that they keep for their ends.
func (m *maps) addStarts(l *bind.PairLayout) (err error) {
	if l.KeySize == 0 {
		// No site has a key that can be read, so no program reaches the map.
		l.KeySize = 8 * max(2, len(l.Key))
	}
	spec := ebpf.MapSpec{
		Name: "usdt_starts", Type: ebpf.LRUHash, KeySize: uint32(l.KeySize), ValueSize: codegen.StartsSize, MaxEntries: uint32(l.MaxPending()),
	}
	if m.Starts, err = ebpf.NewMap(&spec); err == nil && l.StartArgsSize > 0 {
		spec.Name, spec.KeySize, spec.ValueSize = "usdt_start_args", spec.KeySize+8, uint32(l.StartArgsSize)
		m.StartArgs, err = ebpf.NewMap(&spec)
	}
	if err != nil {
		return fmt.Errorf("create a map of %d starts: %w", l.MaxPending(), err)
	}
	return nil
}

// pairs returns, from the counters, what became of starts and ends. The kernel
// does not count evictions: they are the starts that were kept and are nowhere
// else.
func (m *maps) pairs(c *counters) (p PairStats, err error) {
	p = PairStats{
		Pairs: c.at(codegen.CounterMatched), TooDeep: c.at(codegen.CounterTooDeep),
		Dropped: c.at(codegen.CounterDropped), Unstarted: c.at(codegen.CounterUnstarted),
	}
	if m.Starts == nil {
		return p, nil
	}
	defer func() { // of pairs that are recorded
		unkept := c.at(codegen.CounterUnkept)
		p.Pairs, p.Evicted, p.Fast = p.Pairs-unkept, p.Evicted+unkept, c.at(codegen.CounterFast)
	}()
	n, err := countStarts(m.Starts)
	if err != nil {
		return p, fmt.Errorf("count pending starts: %w", err)
	}
	p.Pending = n
	// The difference may be negative, since programs run between the reading of
	// the counters and that of the entries.
	if gone := p.Pairs + p.TooDeep + p.Dropped + p.Pending; c.at(codegen.CounterStarted) > gone {
		p.Evicted = c.at(codegen.CounterStarted) - gone
	}
	return p, nil
}

// countStarts returns the number of starts that wait.
func countStarts(m *ebpf.Map) (total uint64, err error) {
	const batch = 1024
	key := reflect.ArrayOf(int(m.KeySize()), reflect.TypeFor[byte]())
	keys, values := reflect.MakeSlice(reflect.SliceOf(key), batch, batch).Interface(), make([]codegen.Starts, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, values, nil)
		for i := range values[:n] {
			for _, at := range values[i][1:] {
				if at != 0 {
					total++
				}
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
