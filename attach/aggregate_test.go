package attach_test

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/provider"
)

func init() { children["aggregate"] = aggregateChild() }

// aggregatePaths are the values of an argument of the child "aggregate".
var aggregatePaths = []string{"/", "/api", "/api/users", strings.Repeat("long", 40)}

const aggregateEvents = 1000 // of one thread

// aggregateChild fires from several threads. What it fires is sample's.
func aggregateChild() func(string) error {
	p := provider.New("agg", nil)
	done := provider.NewProbe5[string, int32, float64, uint64, float32](p, "done", "path", "status", "ms", "bytes", "load")
	other := provider.NewProbe1[int32](p, "other", "status")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		var threads int
		if _, err := fmt.Sscanf(command, "fire %d", &threads); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for range threads {
			wg.Go(func() {
				for i := range aggregateEvents {
					s := sample(i)
					done.Fire(s.path, s.status, s.ms, s.bytes, s.load)
					if i%10 == 0 {
						other.Fire(s.status)
					}
				}
			})
		}
		wg.Wait()
		return nil
	}
}

type aggregateSample struct {
	path   string
	status int32
	ms     float64
	bytes  uint64
	load   float32
}

func sample(i int) aggregateSample {
	return aggregateSample{
		path: aggregatePaths[i%len(aggregatePaths)], status: int32(i%7) - 3,
		ms: math.Ldexp(float64(i-100), i%40-30), bytes: uint64(i) << (i % 40), load: float32(i) / 8,
	}
}

func openAggregate(t testing.TB, selectors []string, what attach.Aggregation, opts *attach.Options) *attach.Aggregate {
	t.Helper()
	a, err := attach.OpenAggregate(selectors, &what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// expect computes in Go what the kernel should.
func expect(number func(aggregateSample) float64, by func(aggregateSample) string, times uint64) map[string]attach.Group {
	groups := map[string]attach.Group{}
	for i := range aggregateEvents {
		s := sample(i)
		v := number(s)
		g, ok := groups[by(s)]
		if !ok {
			g.Sum, g.Min, g.Max = 0.0, v, v
		}
		g.Count += times
		g.Sum = g.Sum.(float64) + v*float64(times)
		g.Min, g.Max = min(g.Min.(float64), v), max(g.Max.(float64), v)
		groups[by(s)] = g
	}
	return groups
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v.(float64)
}

// TestAggregate compares with what the traced program fired.
func TestAggregate(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	numbers := map[string]func(aggregateSample) float64{
		"status": func(s aggregateSample) float64 { return float64(s.status) },
		"ms":     func(s aggregateSample) float64 { return s.ms },
		"bytes":  func(s aggregateSample) float64 { return float64(s.bytes) },
		"load":   func(s aggregateSample) float64 { return float64(s.load) },
	}
	bys := map[string]func(aggregateSample) string{
		"":            func(aggregateSample) string { return "[]" },
		"path":        func(s aggregateSample) string { return fmt.Sprintf("[%.120s]", s.path) },
		"status":      func(s aggregateSample) string { return fmt.Sprintf("[%d]", s.status) },
		"load,status": func(s aggregateSample) string { return fmt.Sprintf("[%v %d]", s.load, s.status) },
		"pid,comm":    func(aggregateSample) string { return fmt.Sprintf("[%d exe]", p.pid()) },
		"probe,path":  func(s aggregateSample) string { return fmt.Sprintf("[agg:done %.120s]", s.path) },
	}
	for value, number := range numbers {
		for by, key := range bys {
			t.Run(value+" by "+by, func(t *testing.T) {
				what := attach.Aggregation{Value: value, Sum: true, Avg: true, Min: true, Max: true, Hist: true}
				if by != "" {
					what.By = strings.Split(by, ",")
				}
				a := openAggregate(t, []string{"agg:done"}, what, &attach.Options{PIDs: []int{p.pid()}})
				p.do("fire 2")
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				groups, err := a.Read()
				if err != nil {
					t.Fatal(err)
				}
				want := expect(number, key, 2)
				for _, g := range groups {
					var values []any
					for _, arg := range g.By {
						values = append(values, arg.Value)
					}
					k := fmt.Sprint(values)
					w := want[k]
					delete(want, k)
					sum := toFloat(g.Sum)
					if avg := g.Avg.(float64); avg != sum/float64(g.Count) {
						t.Errorf("%s: average %v of sum %v", k, avg, g.Sum)
					}
					if g.Count != w.Count || toFloat(g.Min) != w.Min || toFloat(g.Max) != w.Max || math.Abs(sum-w.Sum.(float64)) > 1e-3+math.Abs(sum)*1e-12 {
						t.Errorf("%s: got %+v, want %+v", k, g, w)
					}
					checkHist(t, &g, number, key, k)
				}
				if len(want) > 0 {
					t.Errorf("no groups %v among %d", want, len(groups))
				}
				if st := checkSum(t, a); st.Received != 2*aggregateEvents {
					t.Errorf("stats %+v, want %d received", st, 2*aggregateEvents)
				}
			})
		}
	}
}

// checkHist compares the buckets of a group with what was fired.
func checkHist(t *testing.T, g *attach.Group, number func(aggregateSample) float64, by func(aggregateSample) string, key string) {
	t.Helper()
	for _, b := range g.Hist {
		n := uint64(0)
		for i := range aggregateEvents {
			if v := number(sample(i)); by(sample(i)) == key && v >= b.Lo && v < b.Hi {
				n += 2
			}
		}
		if n != b.N {
			t.Errorf("%s: %d values from %g to %g, want %d", key, b.N, b.Lo, b.Hi, n)
		}
	}
}

// TestBounds compares histograms with bounds of every kind of argument with
// what was fired.
func TestBounds(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	thousand, err := attach.Linear(-250, 250, 0.5)
	if err != nil || len(thousand) != attach.MaxBounds {
		t.Fatalf("%d bounds, error %v, want %d", len(thousand), err, attach.MaxBounds)
	}
	for _, test := range []struct {
		value  string
		bounds []float64
		number func(aggregateSample) float64
	}{
		{"status", []float64{-2.5, -1, 0, 1.5, 2, 100}, func(s aggregateSample) float64 { return float64(s.status) }},
		{"status", []float64{-1e300, 1e300}, func(s aggregateSample) float64 { return float64(s.status) }},
		{"bytes", []float64{-3, 0.5, 1, 1 << 20, 1 << 40}, func(s aggregateSample) float64 { return float64(s.bytes) }},
		{"ms", []float64{-1e9, -0.1, 0, 1e-300, 0.1, 1 << 20}, func(s aggregateSample) float64 { return s.ms }},
		{"load", []float64{0, 0.1, 0.125, 1e40}, func(s aggregateSample) float64 { return float64(s.load) }},
		{"load", thousand, func(s aggregateSample) float64 { return float64(s.load) }},
	} {
		a := openAggregate(t, []string{"agg:done"}, attach.Aggregation{Value: test.value, Hist: true, Bounds: test.bounds}, &attach.Options{PIDs: []int{p.pid()}})
		p.do("fire 1")
		groups, err := a.Read()
		if err != nil || len(groups) != 1 {
			t.Fatalf("%d groups, error %v", len(groups), err)
		}
		edges := append(append([]float64{math.Inf(-1)}, test.bounds...), math.Inf(1))
		var want []attach.Bucket
		for i := range len(edges) - 1 {
			b := attach.Bucket{Lo: edges[i], Hi: edges[i+1]}
			for i := range aggregateEvents {
				if v := test.number(sample(i)); v >= b.Lo && v < b.Hi {
					b.N++
				}
			}
			want = append(want, b)
		}
		for len(want) > 0 && want[0].N == 0 {
			want = want[1:]
		}
		for len(want) > 0 && want[len(want)-1].N == 0 {
			want = want[:len(want)-1]
		}
		if d := cmp.Diff(want, groups[0].Hist); d != "" {
			t.Errorf("%s by %v (-want +got):\n%s", test.value, test.bounds, d)
		}
	}
}

// TestLinear holds that rounding makes no bucket of what is left of a step.
func TestLinear(t *testing.T) {
	for _, test := range []struct {
		lo, hi, step float64
		buckets      int
	}{{0.1, 0.4, 0.1, 3}, {0, 2.1, 0.3, 7}, {0.1, 1.3, 0.3, 4}, {0, 10, 3, 4}, {0, 1, 5, 1}, {0, 1000, 1, 1000}} {
		bounds, err := attach.Linear(test.lo, test.hi, test.step)
		if err != nil || len(bounds) != test.buckets+1 || !slices.IsSorted(bounds) || bounds[0] != test.lo || bounds[test.buckets] != test.hi || bounds[test.buckets-1] >= test.hi {
			t.Errorf("from %g to %g by %g: %v, error %v, want %d buckets", test.lo, test.hi, test.step, bounds, err, test.buckets)
		}
	}
	for _, test := range [][3]float64{{0, 1, math.Inf(1)}, {0, 1, math.NaN()}, {1, 1, 1}, {0, 1, -1}, {0, 1001, 1}} {
		if bounds, err := attach.Linear(test[0], test[1], test[2]); !errors.Is(err, attach.ErrAggregation) {
			t.Errorf("from %g to %g by %g: %v, error %v", test[0], test[1], test[2], bounds, err)
		}
	}
}

// TestAggregateIntervals reads while events fire: each is counted once.
func TestAggregateIntervals(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	a := openAggregate(t, []string{"agg:*"}, attach.Aggregation{Value: "status", Sum: true, By: []string{"probe"}},
		&attach.Options{PIDs: []int{p.pid()}, Where: "status != 0"})
	counts, sums := map[string]uint64{}, map[string]int64{}
	read := func() {
		groups, err := a.Read()
		if err != nil {
			t.Error(err)
		}
		for _, g := range groups {
			counts[fmt.Sprint(g.By[0].Value)] += g.Count
			sums[fmt.Sprint(g.By[0].Value)] += g.Sum.(int64)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				read()
			}
		}
	}()
	const rounds, threads = 10, 3
	for range rounds {
		p.do("fire %d", threads)
	}
	close(stop)
	<-stopped
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	read()
	wantCounts, wantSums := map[string]uint64{}, map[string]int64{}
	for i := range aggregateEvents {
		if status := sample(i).status; status != 0 {
			wantCounts["agg:done"] += rounds * threads
			wantSums["agg:done"] += int64(status) * rounds * threads
			if i%10 == 0 {
				wantCounts["agg:other"] += rounds * threads
				wantSums["agg:other"] += int64(status) * rounds * threads
			}
		}
	}
	if d := cmp.Diff(wantCounts, counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantSums, sums); d != "" {
		t.Errorf("sums (-want +got):\n%s", d)
	}
	st, err := a.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.Fired != rounds*threads*aggregateEvents*11/10 || st.Fired != st.Received+st.Lost+st.Filtered+st.Missed || st.Lost != 0 {
		t.Errorf("stats %+v", st)
	}
}

// TestAggregateLost holds that events for which there is no room, or no
// argument, are counted as lost, and those that nobody reads as filtered.
func TestAggregateLost(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Aggregation{By: []string{"status"}, MaxGroups: 2}, &attach.Options{PIDs: []int{p.pid()}})
	p.do("fire 1")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := a.Stats()
	if err != nil || st.Fired != aggregateEvents || st.Lost == 0 || st.Filtered == 0 || st.Fired != st.Lost+st.Filtered {
		t.Errorf("stats %+v, error %v", st, err)
	}

	path := compile(t, "gcc", "-O2")
	c := start(t, exec.Command(path))
	b := openAggregate(t, []string{path + ":args:text"}, attach.Aggregation{By: []string{"arg1"}}, &attach.Options{Strings: []string{"arg0", "arg1"}})
	d := openAggregate(t, []string{path + ":args:text"}, attach.Aggregation{Value: "arg2", Max: true, By: []string{"arg0"}}, &attach.Options{Strings: []string{"arg0"}})
	c.do("")
	if groups, err := b.Read(); err != nil || len(groups) != 0 {
		t.Errorf("groups %+v, error %v by an argument that cannot be read", groups, err)
	}
	if st, err := b.Stats(); err != nil || st.Fired != 1 || st.Lost != 1 {
		t.Errorf("stats %+v, error %v, want 1 lost", st, err)
	}
	groups, err := d.Read()
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != "h\xc3\xa9llo" || groups[0].Max != int64(1) {
		t.Errorf("groups %+v, error %v", groups, err)
	}
}

// TestAggregateNothing counts, which is what no aggregation asks for.
func TestAggregateNothing(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	a, err := attach.OpenAggregate([]string{"agg:done"}, nil, &attach.Options{PIDs: []int{p.pid()}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	p.do("fire 1")
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != aggregateEvents {
		t.Errorf("groups %+v, error %v", groups, err)
	}
}

func TestAggregateErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for _, test := range []struct {
		what attach.Aggregation
		want string
	}{
		{attach.Aggregation{By: []string{"size"}}, "aggregation: args:memory has no argument size: it has arg0, arg1, arg2, pid"},
		{attach.Aggregation{Value: "size", Sum: true}, "aggregation: args:memory has no argument size"},
		{attach.Aggregation{Value: "comm", Sum: true}, "aggregation: argument comm of args:memory is not a number"},
		{attach.Aggregation{Value: "arg0", Hist: true, Bounds: []float64{1}}, "a histogram has 2 to 1001 bounds, not 1"},
		{attach.Aggregation{Value: "arg0", Hist: true, Bounds: []float64{1, 1}}, "the bound 1 of a histogram is not a number greater"},
		{attach.Aggregation{Sum: true}, "needs the name of an argument"},
		{attach.Aggregation{By: strings.Split(strings.Repeat("comm,", 33)+"pid", ",")}, "grouped by 536 bytes, at most 512"},
	} {
		_, err := attach.OpenAggregate([]string{path + ":args:memory"}, &test.what, nil)
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %s", test.what, err, test.want)
		}
	}
}

// TestAggregateEnds holds that Done follows the end of the traced processes.
func TestAggregateEnds(t *testing.T) {
	p := startChild(t, "aggregate")
	p.do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Aggregation{}, &attach.Options{PIDs: []int{p.pid()}})
	p.do("fire 1")
	if err := p.end(); err != nil {
		t.Error(err)
	}
	select {
	case <-a.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the aggregate did not notice that the process has ended")
	}
	if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != aggregateEvents {
		t.Errorf("groups %+v, error %v, want %d events", groups, err, aggregateEvents)
	}
}
