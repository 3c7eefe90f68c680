package tally_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/bind/bindtest"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/reader"
)

// TestGroups adds up random events by many keys, values and conditions, and compares the
// groups with those of a model that knows the events and no records.
func TestGroups(t *testing.T) {
	number := func(f func(*request) int64) func(*request) string {
		return func(e *request) string { return fmt.Sprint(f(e)) }
	}
	one := func(*request) string { return "" }
	count := func(*request) (value, bool) { return value{}, true }
	id := func(e *request) (value, bool) { return value{i: int64(e.id)}, true }
	status := func(e *request) (value, bool) { return value{i: int64(e.status)}, true }
	ratio := func(e *request) (value, bool) {
		return value{f: e.ratio, float: true}, !math.IsNaN(e.ratio) && math.Abs(e.ratio) < 1<<43
	}
	for _, test := range []struct {
		name   string
		by     []string
		key    func(*request) string
		of     string
		value  func(*request) (value, bool) // false if the event is lost
		bounds []float64
		where  string
		passes func(*request) bool
	}{
		{name: "all", key: one, value: count},
		{name: "by number", by: []string{"id"}, key: number(func(e *request) int64 { return int64(e.id) }), value: count},
		{name: "by signed number", by: []string{"status"}, key: number(func(e *request) int64 { return int64(e.status) }), value: count},
		{name: "by task", by: []string{"pid", "comm"}, key: func(e *request) string { return fmt.Sprint(e.pid, "|", e.comm) }, value: count},
		{name: "by the beginning of a name", by: []string{"comm[:2]"}, key: func(e *request) string { return e.comm[:min(2, len(e.comm))] }, value: count},
		{name: "by text", by: []string{"path"}, key: func(e *request) string { return e.text(120, true) }, value: count},
		{name: "by the beginning of text", by: []string{"path[:4]"}, key: func(e *request) string { return e.text(4, false) }, value: count},
		{name: "by statements", by: []string{"sql(path)"}, key: func(e *request) string { return statement(e) }, value: count},
		{name: "by expression", by: []string{"status/100"}, key: number(func(e *request) int64 { return int64(e.status / 100) }), value: count},
		{name: "by quotient", by: []string{"id % status"}, key: func(e *request) string {
			if e.status == 0 {
				return fmt.Sprint("!", query.MarkDivision)
			}
			return fmt.Sprint(int64(e.id) % int64(e.status))
		}, value: count},
		{name: "by float", by: []string{"ratio"}, key: func(e *request) string {
			switch {
			case math.IsNaN(e.ratio):
				return fmt.Sprint(int64(0x7ff8 << 48))
			case e.ratio == 0:
				return "0"
			}
			return fmt.Sprint(int64(math.Float64bits(e.ratio)))
		}, value: count},
		{name: "by member", by: []string{"peer.port"}, key: func(e *request) string {
			if e.noPeer {
				return fmt.Sprint("!", query.MarkNil)
			}
			return fmt.Sprint(e.port)
		}, value: count},
		{name: "of unsigned numbers", key: one, of: "id", value: id},
		{name: "of signed numbers", by: []string{"pid"}, key: number(func(e *request) int64 { return int64(e.pid) }), of: "status", value: status},
		{name: "of floats", by: []string{"pid"}, key: number(func(e *request) int64 { return int64(e.pid) }), of: "ratio", value: ratio},
		{name: "bounds", key: one, of: "status", value: status, bounds: []float64{-1, 0, 2.5, 404}},
		{name: "bounds of floats", key: one, of: "ratio", value: ratio, bounds: []float64{-1, 0, 2.5, 404}},
		{name: "of members", key: one, of: "peer.port", value: func(e *request) (value, bool) { return value{i: int64(e.port)}, !e.noPeer }},
		{name: "where number", key: one, value: count, where: "status >= 0 && id != 3", passes: func(e *request) bool { return e.status >= 0 && e.id != 3 }},
		{name: "where text", key: one, value: count, where: `path ~ "SELECT *" || path == ""`, passes: func(e *request) bool { return !e.noPath && strings.HasPrefix(e.path, "SELECT ") || e.path == "" }},
		{name: "where float", key: one, value: count, where: "ratio < 1.5", passes: func(e *request) bool { return e.ratio < 1.5 }},
		{name: "where task", key: one, value: count, where: `pid == 2 || comm != "b"`, passes: func(e *request) bool { return e.pid == 2 || e.comm != "b" }},
		{name: "where member", key: one, value: count, where: "peer.port > 0", passes: func(e *request) bool { return !e.noPeer && e.port > 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := query.Computation{By: test.by}
			if test.of != "" {
				all = query.Computation{By: test.by, Value: test.of, Functions: query.Of(query.Sum, query.Min, query.Max, query.Stddev), Hist: true, Quantiles: []float64{50}, Bounds: test.bounds}
			}
			sig, layout := requests(t, &bindtest.Case{Where: test.where, Sums: &all})
			sums := tally.New(1000, test.bounds, 0)
			var lost, filtered uint64
			want := map[string][]value{}
			random := rand.New(rand.NewPCG(1, 2))
			for range 2000 {
				e := newRequest(random)
				sums.Add(sig, e.record(sig), 0)
				v, ok := test.value(&e)
				switch {
				case test.passes != nil && !test.passes(&e):
					filtered++
				case !ok:
					lost++
				default:
					key := test.key(&e)
					want[key] = append(want[key], v)
				}
			}
			if got := sums.Counts(); got.Lost != lost || got.Filtered != filtered {
				t.Errorf("%d lost and %d filtered, want %d and %d", got.Lost, got.Filtered, lost, filtered)
			}
			groups, _ := sums.Take()
			got := map[string][]uint64{}
			for key, words := range groups {
				got[readable(layout, []byte(key))] = words
			}
			if len(got) != len(want) {
				t.Errorf("%d groups, want %d", len(got), len(want))
			}
			for key, values := range want {
				words := got[key]
				if words == nil {
					t.Errorf("no group %q, only %q", key, slices.Sorted(keysOf(got)))
					break
				}
				if test.of == "" {
					if words[query.WordCount] != uint64(len(values)) {
						t.Errorf("%q: %d events, want %d", key, words[query.WordCount], len(values))
					}
					continue
				}
				v := layout.Wanted.Values()
				places, _ := v.Places(layout.Value.Kind)
				fine := query.CellOf(words, places, query.CellFine)
				if d := cmp.Diff(model(values, layout.Value.Kind, test.bounds, v.Buckets(layout.Value.Kind)), words[:len(words)-len(fine)]); d != "" {
					t.Errorf("%q (-want +got):\n%s", key, d)
				}
				checkQuantiles(t, key, values, fine, layout.Value.Kind)
			}
		})
	}
}

// value is what is added up: an integer, or a floating-point number.
type value struct {
	i     int64
	f     float64
	float bool
}

func (v value) number() float64 {
	if v.float {
		return v.f
	}
	return float64(v.i)
}

// model returns the words of a group with these values: their number, the sum, the minimum and
// the maximum, the histogram and the sum of squares.
func model(values []value, kind reader.FieldKind, bounds []float64, buckets int) []uint64 {
	words := make([]uint64, query.WordHist+buckets+2)
	sum, squares := new(big.Int), new(big.Int)
	var least, most value
	for i, v := range values {
		words[query.WordCount]++
		n := big.NewInt(v.i)
		if v.float {
			n = big.NewInt(int64(math.Round(v.f * (1 << query.SumFraction))))
		}
		sum.Add(sum, n)
		squares.Add(squares, new(big.Int).Mul(n, n))
		if i == 0 || v.number() < least.number() {
			least = v
		}
		if i == 0 || v.number() > most.number() {
			most = v
		}
		words[query.WordHist+bucket(v, kind, bounds)]++
	}
	words[query.WordSum] = uint64(sum.Int64())
	words[query.WordMin], words[query.WordMax] = ^ordered(least, kind), ordered(most, kind)
	at := query.WordHist + buckets
	words[at] = new(big.Int).And(squares, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	words[at+1] = squares.Rsh(squares, 64).Uint64()
	return words
}

// ordered returns a number whose unsigned order is the value's.
func ordered(v value, kind reader.FieldKind) uint64 {
	switch {
	case v.float && v.f < 0:
		return ^math.Float64bits(v.f)
	case v.float:
		return math.Float64bits(v.f+0) | 1<<63 // +0 for -0
	case kind == reader.Int:
		return uint64(v.i) + 1<<63
	}
	return uint64(v.i)
}

// bucket returns the index of a value's bucket.
func bucket(v value, kind reader.FieldKind, bounds []float64) int {
	if bounds != nil {
		i := 0
		for i < len(bounds) && v.number() >= bounds[i] {
			i++
		}
		return i
	}
	powers, first := map[reader.FieldKind]int{reader.Int: 63, reader.Uint: 64, reader.Float: 88}[kind], 0
	if v.float {
		first = -32
	}
	zero := 1 + powers
	if kind == reader.Uint {
		zero = 0
	}
	switch f := v.number(); {
	case f <= -math.Ldexp(1, first):
		return zero - 1 - min(int(math.Ceil(math.Log2(-f)))-first, powers)
	case f < 0:
		return zero - 1
	case f < math.Ldexp(1, first):
		return zero
	default:
		return zero + min(1+int(math.Floor(math.Log2(f)))-first, powers)
	}
}

// checkQuantiles checks that the fine buckets, in their order, have middles close to the values.
func checkQuantiles(t *testing.T, key string, values []value, fine []uint64, kind reader.FieldKind) {
	t.Helper()
	var want []float64
	for _, v := range values {
		want = append(want, v.number())
	}
	slices.Sort(want)
	i := 0
	for bucket, n := range fine {
		bits := query.FineMiddle(bucket, kind)
		middle := float64(int64(bits))
		if kind == reader.Float {
			middle = math.Float64frombits(bits)
		}
		for range n {
			if i == len(want) {
				t.Fatalf("%q: more fine values than events", key)
			}
			v := want[i]
			if kind == reader.Float {
				v = min(max(v, -1<<31), 1<<31)
				if math.Abs(v) < 1.0/(1<<30) {
					v = 0
				}
			}
			if math.Abs(v-middle) > math.Abs(v)/64 {
				t.Errorf("%q: value %d is %g, and counts as %g", key, i, v, middle)
			}
			i++
		}
	}
	if i != len(want) {
		t.Errorf("%q: %d fine values, want %d", key, i, len(want))
	}
}
