package attach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// percents are quantiles that lie at the edges, and between.
var percents = []float64{0, 0.1, 1, 10, 25, 33.3, 50, 75, 90, 99, 99.9, 100}

// checkQuantiles compares quantiles with the exact ones of values.
func checkQuantiles(t *testing.T, what string, got []total.Quantile, values []float64) {
	t.Helper()
	if len(got) != len(percents) {
		t.Fatalf("%s: quantiles %+v, want %d", what, got, len(percents))
	}
	slices.Sort(values)
	for i, q := range got {
		// The values of the ranks 1 to k are k/n of all n.
		k := 1
		for float64(k)*1000 < float64(len(values))*math.Round(percents[i]*10) {
			k++
		}
		want := values[k-1]
		v := toFloat(q.Value)
		if q.Percent != percents[i] || math.Abs(v-want) > math.Abs(want)/64 {
			t.Errorf("%s: %s is %v, want %g of %d values within 1/64", what, q.Name(), v, want, len(values))
		}
		if want == math.Trunc(want) && math.Abs(want) < 64 && v != want && strings.HasPrefix(what, "status") {
			t.Errorf("%s: %s is %v, want exactly %g", what, q.Name(), v, want)
		}
	}
}

// deviation returns the standard deviation of values.
func deviation(values []float64) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}

// TestQuantiles compares quantiles and standard deviations with the exact ones of what two
// processes fired on several threads.
func TestQuantiles(t *testing.T) { everyWay(t, checkAllQuantiles) }

func checkAllQuantiles(t *testing.T) {
	var pids []int
	var fire []func()
	for range 2 {
		p := startChild(t, "aggregate")
		p.Do("load")
		pids = append(pids, p.PID())
		fire = append(fire, func() { p.Do("fire 2") })
	}
	numbers := map[string]func(aggregateSample) float64{
		"status": func(s aggregateSample) float64 { return float64(s.status) },
		"ms":     func(s aggregateSample) float64 { return s.ms },
		"bytes":  func(s aggregateSample) float64 { return float64(s.bytes) },
		"load":   func(s aggregateSample) float64 { return float64(s.load) },
	}
	for value, number := range numbers {
		for _, by := range []string{"", "path"} {
			what := attach.Quantiles(value, percents...).And(attach.Stddev(value))
			if by != "" {
				what = what.By(by).MaxGroups(1100) // so many that CPUs share them
			}
			a := openAggregate(t, []string{"agg:done"}, what, &attach.Options{Target: attach.Target{PIDs: pids}})
			for _, fire := range fire {
				fire()
			}
			groups, err := a.Read()
			if err != nil || len(groups) == 0 {
				t.Fatalf("groups %v, error %v", groups, err)
			}
			a.Close()
			of := map[string][]float64{}
			for i := range aggregateEvents {
				key, s := "", sample(i)
				if by != "" {
					key = fmt.Sprintf("%.120s", s.path)
				}
				for range 2 * len(pids) {
					of[key] = append(of[key], number(s))
				}
			}
			for _, g := range groups {
				key := ""
				if by != "" {
					key = g.By[0].Value.(string)
				}
				name := value + " of " + key
				checkQuantiles(t, name, g.Quantiles, of[key])
				if got, want := g.Stddev.(float64), deviation(of[key]); math.Abs(got-want) > want*1e-9+1e-6 {
					t.Errorf("%s: standard deviation %v, want %v", name, got, want)
				}
				if g.Hist != nil || g.Sum != nil || g.Avg != nil {
					t.Errorf("%s: %+v has more than was asked for", name, g)
				}
				delete(of, key)
			}
			if len(of) > 0 {
				t.Errorf("%s: %d groups lack", value, len(of))
			}
		}
	}
}

// TestQuantilesOfTimes checks that quantiles of latencies lie between the least and the
// greatest, in their order, and that groups have no more words if nobody asks for
// quantiles.
func TestQuantilesOfTimes(t *testing.T) { everyWay(t, checkQuantilesOfTimes) }

func checkQuantilesOfTimes(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	a := openLatency(t, &attach.LatencyOptions{Key: []string{"id"}, Also: attach.Quantiles("latency", 0, 50, 99, 100).And(attach.Stddev("latency"))}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("threads 2 1000")
	groups, err := a.Read()
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, error %v", groups, err)
	}
	g := groups[0]
	last := g.Min.(uint64)
	for _, q := range g.Quantiles {
		if v := q.Value.(uint64); v < last || v > g.Max.(uint64) {
			t.Errorf("%s is %d, behind %d, in %+v", q.Name(), v, last, g)
		} else {
			last = v
		}
	}
	if low, high := toFloat(g.Quantiles[0].Value)/toFloat(g.Min), toFloat(g.Quantiles[3].Value)/toFloat(g.Max); low > 1+1.0/64 || high < 1-1.0/64 {
		t.Errorf("p0 and p100 of %+v", g)
	}
	// No value is further from the mean than the root of n standard deviations.
	if s := g.Stddev.(float64); s <= 0 || float64(g.Max.(uint64))-g.Avg.(float64) > s*math.Sqrt(float64(g.Count)) {
		t.Errorf("standard deviation %v of %+v", s, g)
	}
	var read struct {
		Stddev    float64
		Quantiles map[string]uint64
	}
	line, err := json.Marshal(g)
	if err != nil || json.Unmarshal(line, &read) != nil || read.Stddev != g.Stddev || read.Quantiles["p99"] != g.Quantiles[2].Value {
		t.Errorf("%s, error %v, of %+v", line, err, g)
	}
}

// TestQuantilesReplayed compares quantiles of a recording with those of its events.
func TestQuantilesReplayed(t *testing.T) {
	dir := recorder(t)
	p := startChild(t, "aggregate")
	p.Do("load")
	p.Do("fire 1")
	p.Kill()
	file := recordingOf(t, dir, p)
	events, _ := replay(t, "agg:done", attach.Options{}, file)
	var values []float64
	for _, ev := range events {
		values = append(values, float64(ev.Args[3].Value.(uint64)))
	}
	a, err := attach.OpenAggregate(t.Context(), []string{"agg:done"}, attach.Quantiles("bytes", percents...), &attach.Options{Target: attach.Target{Recordings: []string{file}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-a.Done()
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != uint64(len(values)) || len(values) == 0 {
		t.Fatalf("groups %v, error %v, want one of %d", groups, err, len(values))
	}
	checkQuantiles(t, "bytes", groups[0].Quantiles, values)
}

// TestRefusedQuantiles checks what is said of quantiles that are not possible.
func TestRefusedQuantiles(t *testing.T) {
	for _, test := range []struct {
		what attach.Aggregation
		want string
	}{
		{attach.Quantiles("status"), "no quantile is named"},
		{attach.Quantiles("status", 101), "the quantile 101 is not between 0 and 100 %"},
		{attach.Quantiles("status", math.NaN()), "the quantile NaN is not"},
		{attach.Quantiles("status", 50).And(attach.Quantiles("status", 50)), "the quantile 50 is named twice"},
		{attach.Quantiles("status", 50).And(attach.Sum("bytes")), "of two arguments"},
		{attach.Quantiles("", 50), "the name of the argument is empty"},
	} {
		_, err := attach.OpenAggregate(t.Context(), []string{"agg:done"}, test.what, nil)
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	p := startChild(t, "aggregate")
	p.Do("load")
	bounds, err := attach.Linear(0, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = aggregateBy(t, t.Context(), []string{"agg:done"}, attach.Quantiles("status", 50).And(attach.Hist("status")).Bounds(bounds...), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	needPrivileges(t, err)
	if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), "leave room for") {
		t.Errorf("error %v, want that there are too many bounds", err)
	}
	if d := cmp.Diff("p99.9", (&total.Quantile{Percent: 99.9}).Name()); d != "" {
		t.Error(d)
	}
}

// TestQuantilesOfManyIntervals checks that the intervals of a recording do not keep the
// buckets of their quantiles until they are read.
func TestQuantilesOfManyIntervals(t *testing.T) {
	dir := recorder(t)
	p := startChild(t, "aggregate")
	p.Do("load")
	p.Do("fire 2")
	p.Kill()
	file := recordingOf(t, dir, p)
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := inUse()
	a, err := attach.OpenAggregate(t.Context(), []string{"agg:done"}, attach.Quantiles("bytes", percents...).Interval(1), &attach.Options{Target: attach.Target{Recordings: []string{file}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-a.Done()
	if _, err := a.Stats(); err != nil {
		t.Fatal(err)
	}
	grown := int64(inUse() - before)
	groups, err := a.Read()
	if err != nil || len(groups) < aggregateEvents {
		t.Fatalf("%d groups, error %v, want one for each nanosecond with events", len(groups), err)
	}
	if grown > int64(4096*len(groups)) {
		t.Errorf("%d groups take %d bytes until they are read", len(groups), grown)
	}
}
