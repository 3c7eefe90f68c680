package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/internal/record"
)

// addStarts creates the maps of starts and of the arguments that they keep for their ends.
func (m *Maps) addStarts(l *bind.PairLayout) (err error) {
	if l.KeySize == 0 {
		// No site has a key that can be read, so no program reaches the map.
		l.KeySize = 8 * max(2, len(l.Key))
	}
	spec := ebpf.MapSpec{
		Name: "usdt_starts", Type: ebpf.LRUHash, KeySize: uint32(l.KeySize), ValueSize: query.StartsSize, MaxEntries: uint32(l.MaxPending()),
	}
	if m.Starts, err = ebpf.NewMap(&spec); err == nil && l.StartArgsSize > 0 {
		spec.Name, spec.KeySize, spec.ValueSize = "usdt_start_args", spec.KeySize+8, uint32(l.StartArgsSize)
		m.StartArgs, err = ebpf.NewMap(&spec)
	}
	if err == nil && l.Times {
		m.Times, err = ebpf.NewMap(codegen.TimesSpec(m.CPUs))
	}
	if err != nil {
		return fmt.Errorf("create a map of %d starts: %w", l.MaxPending(), err)
	}
	return nil
}

// EachTimes calls add with the words of each CPU that add up the times of pairs.
func (m *Maps) EachTimes(add func(key string, words []byte)) error {
	if m.Times == nil {
		return nil
	}
	b, err := m.Times.LookupBytes(uint32(0))
	if err != nil {
		return fmt.Errorf("read the times of pairs: %w", err)
	}
	for cpu := range m.CPUs {
		add("", codegen.TimesOf(b, cpu))
	}
	return nil
}

// Pairs returns, from the counters, what became of starts and ends. The kernel
// does not count evictions: they are the starts that were kept and are nowhere
// else.
func (m *Maps) Pairs(c *counters) (p tally.Counts, err error) {
	p = tally.Counts{
		Matched: c.At(codegen.CounterMatched), TooDeep: c.At(codegen.CounterTooDeep),
		Dropped: c.At(codegen.CounterDropped), Unstarted: c.At(codegen.CounterUnstarted), Torn: c.At(codegen.CounterTorn),
		Replaced: c.At(codegen.CounterReplaced),
	}
	if m.Starts == nil {
		return p, nil
	}
	defer func() { // of pairs that are recorded
		unkept := c.At(codegen.CounterUnkept)
		p.Matched, p.Evicted, p.Fast = p.Matched-unkept, p.Evicted+unkept, c.At(codegen.CounterFast)
	}()
	forgotten := m.forgotten.Load()
	defer func() { // forgotten starts also count as evicted
		torn := min(forgotten, p.Evicted)
		p.Torn, p.Evicted = p.Torn+torn, p.Evicted-torn
	}()
	p.Pending, p.Evicted, err = m.unended(c)
	if called := int64(c.At(codegen.CounterCalled)); called > 0 { // CPUs are read one after the other
		p.Pending += uint64(called)
	}
	return p, err
}

// confirmations is how often a difference must show for starts to count as evicted: a
// program that is held up between taking a start and counting it also shows as one.
const confirmations = 4

// unended returns how many starts wait, and how many are gone without an end. before are
// counters that were read earlier.
func (m *Maps) unended(before *counters) (pending, evicted uint64, err error) {
	for try := range confirmations {
		if try > 0 {
			time.Sleep(time.Millisecond)
		}
		if pending, err = countStarts(m.Starts); err != nil {
			return 0, 0, fmt.Errorf("count pending starts: %w", err)
		}
		// Programs go on. A start that was counted before and was not waiting any more
		// has ended by now. Later starts may make the difference negative.
		now, err := m.Count()
		if err != nil {
			return 0, 0, err
		}
		started := before.At(codegen.CounterStarted)
		gone := now.At(codegen.CounterMatched) + now.At(codegen.CounterTooDeep) + now.At(codegen.CounterReplaced) + now.At(codegen.CounterDropped) + now.At(codegen.CounterTorn) + pending
		if started <= gone {
			return pending, 0, nil
		}
		if try == 0 || started-gone < evicted {
			evicted = started - gone
		}
		before = &now
	}
	return pending, evicted, nil
}

// countStarts returns the number of starts that wait.
func countStarts(m *ebpf.Map) (total uint64, err error) {
	return total, eachStarts(m, func(_ []byte, starts *query.Starts) { total += starts.Waiting(math.MaxUint64) })
}

// Waiting returns the number of starts from before a time that wait. Starts that do not pass the condition are
// left out.
func (m *Maps) Waiting(before uint64) (n uint64, err error) {
	if m.Starts == nil {
		return 0, nil
	}
	err = eachStarts(m.Starts, func(_ []byte, starts *query.Starts) { n += starts.Hanging(before) })
	return n, err
}

// EachWaiting calls do with the time of each start that waits, and with the record that it has kept,
// until do returns an error. Starts that do not pass the condition, or end meanwhile, are left out.
func (m *Maps) EachWaiting(do func(at uint64, rec record.Record) error) (err error) {
	if m.Starts == nil || m.StartArgs == nil {
		return nil
	}
	failed := eachStarts(m.Starts, func(key []byte, starts *query.Starts) {
		for i, at := range starts[1:] {
			if at == 0 || at>>63 != 0 || err != nil {
				continue
			}
			rec, lookup := m.StartArgs.LookupBytes(binary.NativeEndian.AppendUint64(slices.Clone(key), uint64(i)))
			var now query.Starts
			if err = lookup; err != nil || rec == nil || m.Starts.Lookup(key, &now) != nil || now[1+i] != at {
				continue // evicted or ended
			}
			if size := record.Record(rec).Time(); size >= record.HeaderSize && size <= uint64(len(rec)) {
				err = do(at, rec[:size])
			}
		}
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("read pending starts: %w", failed)
	}
	return err
}

// ForgetStarts forgets the keys of processes that have starts from before a time: others have
// fired there unseen.
func (m *Maps) ForgetStarts(l *bind.PairLayout, pids []int, before uint64) error {
	if m.Starts == nil || len(pids) == 0 {
		return nil
	}
	var keys [][]byte
	late := map[int]bool{}
	for _, pid := range pids {
		late[pid] = true
	}
	err := eachStarts(m.Starts, func(key []byte, starts *query.Starts) {
		if pid, known := l.ProcessOf(key, m.Namespace != nil); starts.Waiting(before) > 0 && (!known || late[pid]) {
			keys = append(keys, slices.Clone(key))
			m.forgotten.Add(starts.Waiting(math.MaxUint64))
		}
	})
	for _, key := range keys {
		if failed := m.Starts.Delete(key); failed != nil && !errors.Is(failed, ebpf.ErrKeyNotExist) {
			err = cmp.Or(err, failed)
		}
	}
	if err != nil {
		return fmt.Errorf("forget starts: %w", err)
	}
	return nil
}

// eachStarts calls do for each key.
func eachStarts(m *ebpf.Map, do func(key []byte, starts *query.Starts)) error {
	const batch = 1024
	size := int(m.KeySize())
	key := reflect.ArrayOf(size, reflect.TypeFor[byte]())
	keys, values := reflect.MakeSlice(reflect.SliceOf(key), batch, batch), make([]query.Starts, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys.Interface(), values, nil)
		for i := range values[:n] {
			do(keys.Index(i).Slice(0, size).Bytes(), &values[i])
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
