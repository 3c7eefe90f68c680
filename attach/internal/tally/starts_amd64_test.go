package tally_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
)

// waiting is a start of a model.
type waiting struct {
	at, status uint64
	unwanted   bool
}

// TestStarts matches random starts and ends, and compares the counts and the groups with those
// of a model: a stack of starts for each key, which holds one where starts do not nest.
func TestStarts(t *testing.T) {
	for _, test := range []struct {
		name  string
		whole bool
		where string
		torn  bool // the events of process 2
		deep  int  // starts of a key at once, on average more than ends
		flat  bool
	}{
		{name: "all"},
		{name: "pairs", whole: true},
		{name: "where", where: "status >= 0"},
		{name: "torn", torn: true},
		{name: "nested", deep: 3},
		{name: "flat", deep: 3, flat: true},
		{name: "flat pairs", deep: 3, flat: true, whole: true},
		{name: "flat where", deep: 1, flat: true, where: "status >= 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &bindtest.Case{
				Probes: []bindtest.Probe{{Name: "start", Type: bindtest.Request()}, {Name: "end", Type: bindtest.Request()}},
				Local:  true, Where: test.where, Whole: test.whole, Flat: test.flat, Start: "p:start", End: "p:end", Key: []string{"id"},
				Sums: &query.Computation{Value: "latency", Functions: query.Of(query.Sum), By: []string{"pid"}},
			}
			if test.whole {
				c.Sums = nil
			}
			bound, err := c.Bind()
			if err != nil {
				t.Fatal(err)
			}
			start, end := bound.Schemas[0].Computed, bound.Schemas[1].Computed
			sums := tally.New(100, nil, 1000)
			if test.torn {
				sums.Torn = func(_, _ uint64, pid int) bool { return pid == 2 }
			}
			random := rand.New(rand.NewPCG(3, 4))
			stacks, want := map[string][]waiting{}, tally.Counts{}
			times := map[string][2]uint64{} // number and sum by process
			for now := uint64(1000); now < 4000; now++ {
				e := newRequest(random)
				e.id, e.time = uint64(random.IntN(6)), now
				key := fmt.Sprint(e.pid, e.id)
				stack := stacks[key]
				unwanted := test.where != "" && e.status < 0
				if random.IntN(2+test.deep) > 0 {
					switch {
					case test.flat && len(stack) > 0:
						stack = nil
						want.Replaced++
					case len(stack) == 32:
						stack = stack[1:]
						want.TooDeep++
					}
					stacks[key] = append(stack, waiting{now, uint64(uint32(e.status)), unwanted})
					want.Started++
					add(t, sums, test.whole, start, &e, nil)
					continue
				}
				if len(stack) == 0 {
					want.Unstarted++
					add(t, sums, test.whole, end, &e, nil)
					continue
				}
				s := stack[len(stack)-1]
				stacks[key] = stack[:len(stack)-1]
				var pair *waiting
				switch {
				case s.unwanted || unwanted:
					want.Dropped++
					want.Filtered++
				case test.torn && e.pid == 2:
					want.Torn++
					want.Filtered++
				default:
					pair = &s
					want.Matched++
					n := times[fmt.Sprint(e.pid)]
					times[fmt.Sprint(e.pid)] = [2]uint64{n[0] + 1, n[1] + now - s.at}
				}
				add(t, sums, test.whole, end, &e, pair)
			}
			for _, stack := range stacks {
				want.Pending += uint64(len(stack))
			}
			if d := cmp.Diff(want, sums.Counts()); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
			if test.whole {
				return
			}
			groups, _ := sums.Take()
			got := map[string][2]uint64{}
			for key, words := range groups {
				got[fmt.Sprint(binary.NativeEndian.Uint64([]byte(key)))] = [2]uint64{words[query.WordCount], words[query.WordSum]}
			}
			if d := cmp.Diff(times, got); d != "" {
				t.Errorf("number and sum by process (-want +got):\n%s", d)
			}
		})
	}
}

// add adds a start or an end, which makes a pair with a start, nil for none.
func add(t *testing.T, sums *tally.Tally, whole bool, sig *query.Signature, e *request, pair *waiting) {
	t.Helper()
	rec := e.record(sig)
	if !whole {
		sums.Add(sig, rec, 0)
		return
	}
	kept, elapsed, ok := sums.Match(sig, rec)
	switch {
	case ok != (pair != nil):
		t.Fatalf("a pair: %v, want %v", ok, pair != nil)
	case !ok:
	case elapsed != e.time-pair.at || kept.Time() != pair.at:
		t.Fatalf("a pair of %d ns from %d, want %d from %d", elapsed, kept.Time(), e.time-pair.at, pair.at)
	case uint64(binary.NativeEndian.Uint32(kept[sig.BlockOffset()+bindtest.RequestStatus:])) != pair.status:
		t.Fatal("the start is another")
	}
}

// TestEvictedStarts checks that the key that was used least lately is forgotten when more wait
// than may, and that pairs which took no longer than they have to are left out.
func TestEvictedStarts(t *testing.T) {
	c := &bindtest.Case{
		Probes: []bindtest.Probe{{Name: "start", Type: bindtest.Request()}, {Name: "end", Type: bindtest.Request()}},
		Local:  true, Whole: true, Start: "p:start", End: "p:end", Key: []string{"id"},
	}
	bound, err := c.Bind()
	if err != nil {
		t.Fatal(err)
	}
	start, end := bound.Schemas[0].Computed, bound.Schemas[1].Computed
	end.Aggregate.Slower = 10
	sums := tally.New(100, nil, 2)
	for i, step := range []struct {
		sig *query.Signature
		id  uint64
		at  uint64
		ok  bool
	}{
		{start, 1, 1, false}, {start, 2, 2, false}, {start, 1, 3, false},
		{start, 3, 4, false}, // forgets 2
		{end, 2, 50, false}, {end, 1, 13, false}, {end, 1, 14, true}, {end, 3, 15, true},
	} {
		e := request{pid: 1, id: step.id, time: step.at}
		if _, _, ok := sums.Match(step.sig, e.record(step.sig)); ok != step.ok {
			t.Errorf("step %d: a pair: %v, want %v", i, ok, step.ok)
		}
	}
	if d := cmp.Diff(tally.Counts{Started: 4, Matched: 3, Unstarted: 1, Evicted: 1, Fast: 1}, sums.Counts()); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}
