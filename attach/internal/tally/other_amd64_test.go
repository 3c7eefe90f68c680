package tally_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// TestFold checks that the most used groups stay when there are too many, that among equally used
// groups the first ones by their keys stay, and that no event is lost.
func TestFold(t *testing.T) {
	places, _ := (&query.Values{Min: true, Max: true}).Places(reader.Uint)
	groups := map[string][]uint64{}
	for i := range 10 {
		groups[fmt.Sprint("key", i)] = []uint64{uint64(1 + i/2), 1, uint64(i), uint64(i)}
	}
	tally.Fold(groups, 4, places)
	want := map[string][]uint64{
		"key9": {5, 1, 9, 9}, "key8": {5, 1, 8, 8}, "key7": {4, 1, 7, 7}, "key6": {4, 1, 6, 6},
		tally.OtherKey(4): {1 + 1 + 2 + 2 + 3 + 3, 6, 5, 5},
	}
	if d := cmp.Diff(want, groups); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
	tally.Fold(groups, 4, places)
	if d := cmp.Diff(want, groups); d != "" {
		t.Errorf("groups after another time (-want +got):\n%s", d)
	}
}

// TestRoom checks that a tally keeps a bounded number of groups, with the most used ones and all
// events.
func TestRoom(t *testing.T) {
	sig, layout := requests(t, &bindtest.Case{Sums: &query.Computation{By: []string{"id"}}})
	sums := tally.New(10, nil, 0)
	for i := range 1000 {
		for _, id := range []uint64{1, uint64(1000 + i)} {
			e := request{pid: 1, id: id}
			sums.Add(sig, e.record(sig), 0)
		}
	}
	groups, _ := sums.Take()
	var n uint64
	for key, words := range groups {
		n += words[query.WordCount]
		if name := readable(layout, []byte(key)); name == "1" && words[query.WordCount] != 1000 {
			t.Errorf("the most used group has %d events, want 1000", words[query.WordCount])
		}
	}
	if n != 2000 || len(groups) > 21 {
		t.Errorf("%d events in %d groups, want 2000 in 21 at most", n, len(groups))
	}
	if groups, _ := sums.Take(); len(groups) > 0 {
		t.Errorf("%d groups are taken twice", len(groups))
	}
}

// TestStacks checks that groups by stack have the stacks, each once, and that those of no group
// are forgotten.
func TestStacks(t *testing.T) {
	sig, layout := requests(t, &bindtest.Case{Binder: bind.Binder{Stack: 4}, Sums: &query.Computation{By: []string{"stack"}}})
	sig.Stack.Copied, sig.Stack.Returns = 8, false
	calls := map[uint64][]uint64{1: {10, 20}, 2: {10, 30, 40, 50, 60}}
	sums := tally.New(10, nil, 0)
	sums.Unwind = func(dst []uint64, _ *record.Stack, rec record.Record) (symbols.Calls, error) {
		pcs, ok := calls[rec.Time()]
		if !ok {
			return symbols.Calls{}, errors.New("no stack")
		}
		return symbols.Calls{PCs: append(dst, pcs...)}, nil
	}
	for _, at := range []uint64{1, 2, 1, 3} {
		e := request{pid: 7, time: at}
		sums.Add(sig, e.record(sig), 0)
	}
	groups, stacks := sums.Take()
	if len(groups) != 3 || len(stacks) != 2 {
		t.Fatalf("%d groups and %d stacks, want 3 and 2", len(groups), len(stacks))
	}
	for hash, st := range stacks {
		if st.PID != 7 || hash != query.StackHash(7, st.Calls) {
			t.Errorf("stack %+v has the hash %#x", st, hash)
		}
	}
	part := layout.StackPart()
	for key, words := range groups {
		if words[query.WordCount] == 2 {
			tally.KeepStacks(stacks, map[string][]uint64{key: words}, part)
		}
	}
	for _, st := range stacks {
		if d := cmp.Diff(calls[1], st.PCs); d != "" || len(stacks) != 1 {
			t.Errorf("%d stacks remain, want that of two events (-want +got):\n%s", len(stacks), d)
		}
	}
}

// TestSavedStacks checks that groups of recordings have the stacks that these have.
func TestSavedStacks(t *testing.T) {
	sig, _ := requests(t, &bindtest.Case{Binder: bind.Binder{Stack: 4}, Sums: &query.Computation{By: []string{"stack"}}})
	sig.Stack = record.Stack{Most: 4, Saved: true}
	const number = 5
	saved := &event.Stack{PCs: []uint64{1}}
	sums := tally.New(10, nil, 0)
	sums.Saved = func(n uint64) *event.Stack {
		if n == number {
			return saved
		}
		return nil
	}
	for _, n := range []uint64{number, 6} {
		e := request{pid: 7}
		sums.Add(sig, binary.NativeEndian.AppendUint64(e.record(sig), n), 0)
	}
	groups, stacks := sums.Take()
	if len(groups) != 2 || len(stacks) != 1 || stacks[number].Saved != saved {
		t.Errorf("%d groups with the stacks %v, want two, and one stack that is saved", len(groups), stacks)
	}
}

// TestFaults checks what is noted of conditions and values that cannot be read, and that damaged
// records are lost.
func TestFaults(t *testing.T) {
	sig, _ := requests(t, &bindtest.Case{Where: "peer.port > 0", Sums: &query.Computation{Value: "id", Functions: query.Of(query.Max)}})
	var f tally.Filter
	for _, e := range []request{{port: 1}, {noPeer: true}, {noPeer: true}, {port: -1}} {
		want := !e.noPeer && e.port > 0
		if got := f.Passes(sig, e.record(sig)); got != want {
			t.Errorf("%+v passes: %v, want %v", e, got, want)
		}
	}
	got := map[query.Fault]uint64{}
	f.Faults.AddTo(got)
	if d := cmp.Diff(map[query.Fault]uint64{{Mark: query.MarkNil}: 2}, got); d != "" {
		t.Errorf("faults (-want +got):\n%s", d)
	}
	if !f.Passes(sig, make(record.Record, record.HeaderSize)) {
		t.Error("a damaged record does not pass, so that nobody says what is wrong")
	}
	sums := tally.New(10, nil, 0)
	sums.Add(sig, make(record.Record, record.HeaderSize), 0)
	if n := sums.Counts().Lost; n != 1 {
		t.Errorf("%d lost, want the damaged record", n)
	}

	sig, _ = requests(t, &bindtest.Case{Sums: &query.Computation{Value: "peer.port", Functions: query.Of(query.Max)}})
	e := request{noPeer: true}
	sums.Add(sig, e.record(sig), 0)
	got = map[query.Fault]uint64{}
	sums.Faults.AddTo(got)
	if d := cmp.Diff(map[query.Fault]uint64{{Input: query.ValueInput, Mark: query.MarkNil}: 1}, got); d != "" {
		t.Errorf("faults of a value (-want +got):\n%s", d)
	}
}
