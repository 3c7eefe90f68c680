package tally

import (
	"encoding/binary"
	"sync"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Tally adds up records in groups. Any number of goroutines may use it.
type Tally struct {
	room    int       // groups that are kept apart
	wanted  []float64 // the bounds of histograms; none for powers of two
	pending int       // starts that may wait

	// Unwind appends the addresses to which the copy of the stack in a record leads to dst.
	// It is set before the first record is added, if records have such copies.
	Unwind func(dst []uint64, st *record.Stack, rec record.Record) (symbols.Calls, error)
	// Saved returns the stack whose number records of a recording have, nil if it is not known
	// any more. It is set before the first record is added.
	Saved func(number uint64) *event.Stack

	// Torn reports whether events of a process between two times may be missing, so that a
	// start and an end with these times need not belong together; nil if none are. It is set
	// as Unwind is.
	Torn func(from, to uint64, pid int) bool

	Faults Faults // of conditions

	// Times has the words of a group to which Match adds all pairs; nil if nobody asks. It is set
	// as Unwind is.
	Times []uint64

	mu      sync.Mutex // of what follows, and of the words of Times
	counts  Counts
	groups  map[string][]uint64
	form    form
	stacks  map[uint64]query.GroupStack // by their hashes in keys
	starts  starts
	reading reading
	key     []byte
}

// Counts say what became of records, in the words of the counters in package
// codegen.
type Counts struct {
	Lost, Filtered uint64

	Started, TooDeep, Matched, Dropped, Unstarted uint64 // of starts and ends
	Replaced                                      uint64 // of starts that do not nest
	Torn                                          uint64 // of pairs
	Fast                                          uint64 // of pairs
	Evicted, Pending                              uint64
}

// New returns a Tally that keeps at least so many groups as there is room for apart, the
// most used ones, with histograms of such bounds. At most
// pending keys of starts wait for their ends.
func New(room int, bounds []float64, pending int) *Tally {
	return &Tally{room: room, wanted: bounds, pending: pending, groups: map[string][]uint64{}}
}

// Add adds a record of a signature with an aggregate. probe is the number that stands
// for its probe in keys of groups.
func (t *Tally) Add(sig *query.Signature, rec record.Record, probe int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	agg := sig.Aggregate
	t.reading.probe, t.reading.unwind, t.reading.savedOf = probe, t.Unwind, t.Saved
	switch r := &t.reading; {
	case !r.set(sig, rec):
		t.counts.Lost++
	case agg.Role == query.RoleStart:
		t.start()
	case agg.Role == query.RoleEnd:
		t.end()
	case !r.passes():
		r.noteFault(&t.Faults)
		t.counts.Filtered++
	default:
		t.add(t.buffer(agg.KeySize))
	}
}

// buffer returns size bytes of zeros.
func (t *Tally) buffer(size int) []byte {
	if cap(t.key) < size {
		t.key = make([]byte, size)
	}
	t.key = t.key[:size]
	clear(t.key)
	return t.key
}

// add adds the event that is being read to its group, whose key has what was kept at
// a start.
func (t *Tally) add(key []byte) {
	agg := t.reading.sig.Aggregate
	var bits, sum uint64
	ok := !agg.Missing()
	if ok {
		t.reading.groupKey(key)
		if agg.Wanted.Value {
			bits, sum, ok = t.reading.value()
		}
	}
	if !ok {
		if agg.Wanted.Value && !agg.Missing() {
			t.reading.noteValueFault(&t.Faults)
		}
		t.counts.Lost++
		return
	}
	t.keepStack(key)
	t.form.set(agg)
	words := t.groups[string(key)]
	if words == nil {
		if len(t.groups) >= 2*t.room {
			Fold(t.groups, t.room, t.form.places)
			KeepStacks(t.stacks, t.groups, agg.StackPart())
		}
		words = make([]uint64, t.form.words)
		t.groups[string(key)] = words
	}
	if t.form.Bounds == nil && t.wanted != nil {
		t.form.Bounds = boundsOf(t.wanted, agg)
	}
	words[query.WordCount]++
	if agg.Wanted.Value {
		f := &t.form
		f.Bits, f.Sum = bits, sum
		for i := range f.places {
			f.places[i].Add(words, &f.Addend)
		}
	}
}

// form is where the words of groups are, and memory for what the next event adds to them.
type form struct {
	query.Addend
	of     *query.Aggregate
	kind   reader.FieldKind
	places []query.Place
	words  int
}

// set makes f the form of an aggregate's groups.
func (f *form) set(agg *query.Aggregate) {
	if f.of == agg && f.kind == agg.Value.Kind {
		return
	}
	if f.of == nil || f.of.Wanted != agg.Wanted || f.kind != agg.Value.Kind {
		f.places, f.words = agg.Wanted.Places(agg.Value.Kind)
	}
	f.of, f.kind, f.Values, f.Value = agg, agg.Value.Kind, &agg.Wanted, &agg.Value
}

// boundsOf returns the bounds of a histogram as order keys.
func boundsOf(bounds []float64, agg *query.Aggregate) []uint64 {
	table := query.BoundsTable(bounds, agg.Value.Kind)
	keys := make([]uint64, len(bounds))
	for i := range keys {
		keys[i] = binary.NativeEndian.Uint64(table[8*i:])
	}
	return keys
}

// Take returns the words of the groups by their keys, and the stacks that keys have the hashes
// of, and begins anew.
func (t *Tally) Take() (groups map[string][]uint64, stacks map[uint64]query.GroupStack) {
	t.mu.Lock()
	defer t.mu.Unlock()
	groups, stacks = t.groups, t.stacks
	t.groups, t.stacks = make(map[string][]uint64, len(groups)), nil
	return groups, stacks
}

// Counts returns what became of records until now.
func (t *Tally) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Pending = t.starts.pending
	return c
}
