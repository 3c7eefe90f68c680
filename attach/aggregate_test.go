package attach_test

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

func init() { roles["aggregate"] = tracee.Obey(aggregateChild()) }

// aggregatePaths are the values of an argument of the child "aggregate".
var aggregatePaths = []string{"/", "/api", "/api/users", strings.Repeat("long", 40)}

const aggregateEvents = 1000 // of one thread

// aggregateChild fires the values of sample from several threads. Its provider is agg, or named by "load".
func aggregateChild() func(string) error {
	var done *provider.Probe5[string, int32, float64, uint64, float32]
	var other *provider.Probe1[int32]
	return func(command string) error {
		if name, ok := strings.CutPrefix(command, "load"); ok {
			p := provider.New(cmp.Or(strings.TrimSpace(name), "agg"), nil)
			done = provider.NewProbe5[string, int32, float64, uint64, float32](p, "done", "path", "status", "ms", "bytes", "load")
			other = provider.NewProbe1[int32](p, "other", "status")
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
	a, err := aggregateBy(t, t.Context(), selectors, what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// expect computes in Go what the kernel should compute.
func expect(number func(aggregateSample) float64, by func(aggregateSample) string, times uint64) map[string]total.Group {
	groups := map[string]total.Group{}
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

// TestAggregate compares groups with what the traced program fired.
func TestAggregate(t *testing.T) { everyWay(t, checkAggregate) }

func checkAggregate(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
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
		"pid,comm":    func(aggregateSample) string { return fmt.Sprintf("[%d exe]", p.PID()) },
		"probe,path":  func(s aggregateSample) string { return fmt.Sprintf("[agg:done %.120s]", s.path) },
	}
	for value, number := range numbers {
		for by, key := range bys {
			if testing.Short() && value != "ms" && by != "path" {
				continue // each value and each key, but not all pairs
			}
			t.Run(value+" by "+by, func(t *testing.T) {
				what := attach.Hist(value).And(attach.Sum(value), attach.Avg(value), attach.Min(value), attach.Max(value))
				if by != "" {
					what = what.By(strings.Split(by, ",")...)
				}
				a := openAggregate(t, []string{"agg:done"}, what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
				p.Do("fire 2")
				if err := a.Stop(); err != nil {
					t.Fatal(err)
				}
				groups, err := a.Read()
				if err != nil {
					t.Fatal(err)
				}
				want, values := expect(number, key, 2), valuesOf(number, key)
				for _, g := range groups {
					var by []any
					for _, arg := range g.By {
						by = append(by, arg.Value)
					}
					k := fmt.Sprint(by)
					w := want[k]
					delete(want, k)
					sum := toFloat(g.Sum)
					if avg := g.Avg.(float64); avg != sum/float64(g.Count) {
						t.Errorf("%s: average %v of sum %v", k, avg, g.Sum)
					}
					if g.Count != w.Count || toFloat(g.Min) != w.Min || toFloat(g.Max) != w.Max || math.Abs(sum-w.Sum.(float64)) > 1e-3+math.Abs(sum)*1e-12 {
						t.Errorf("%s: got %+v, want %+v", k, g, w)
					}
					checkHist(t, &g, values[k], k)
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

// TestAggregateShared has several CPUs update the same groups, as they do where
// there are too many CPUs for each to have its own.
func TestAggregateShared(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the groups take 0.1 GB")
	}
	p := startChild(t, "aggregate")
	p.Do("load")
	what := attach.Hist("bytes").And(attach.Sum("bytes"), attach.Min("bytes"), attach.Max("bytes")).By("path").MaxGroups(50_000)
	a := openAggregate(t, []string{"agg:done"}, what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	const rounds, threads = 20, 8
	for range rounds {
		p.Do("fire %d", threads)
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s aggregateSample) float64 { return float64(s.bytes) }
	key := func(s aggregateSample) string { return fmt.Sprintf("%.120s", s.path) }
	want := expect(number, key, rounds*threads)
	if len(groups) != len(want) {
		t.Errorf("%d groups, want %d", len(groups), len(want))
	}
	for _, g := range groups {
		k := g.By[0].Value.(string)
		sum := uint64(0)
		for i := range aggregateEvents {
			if s := sample(i); key(s) == k {
				sum += s.bytes * rounds * threads
			}
		}
		if w := want[k]; g.Count != w.Count || g.Sum != sum || toFloat(g.Min) != w.Min || toFloat(g.Max) != w.Max {
			t.Errorf("%s: got %+v, want %+v with a sum of %d", k, g, w, sum)
		}
		n := uint64(0)
		for _, b := range g.Hist {
			n += b.N
		}
		if n != g.Count {
			t.Errorf("%s: %d values in buckets, %d events", k, n, g.Count)
		}
	}
	if st := checkSum(t, a); st.Lost != 0 {
		t.Errorf("stats %+v, want none lost", st)
	}
}
