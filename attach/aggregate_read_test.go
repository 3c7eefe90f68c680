package attach_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// TestAggregateIntervals reads while events fire: each is counted once.
func TestAggregateIntervals(t *testing.T) { everyWay(t, checkAggregateIntervals) }

func checkAggregateIntervals(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a := openAggregate(t, []string{"agg:*"}, attach.Sum("status").By("probe"),
		&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: "status != 0"})
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
		p.Do("fire %d", threads)
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
	st, err := a.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.Lost > 0 && wayOf(t) == shared { // the ring was full before this program had its turn
		if n := counts["agg:done"] + counts["agg:other"]; n != st.Received {
			t.Errorf("%d events counted, %d received", n, st.Received)
		}
		checkSum(t, a)
		return
	}
	if d := cmp.Diff(wantCounts, counts); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
	if d := cmp.Diff(wantSums, sums); d != "" {
		t.Errorf("sums (-want +got):\n%s", d)
	}
	if st.Fired != rounds*threads*aggregateEvents*11/10 || st.Fired != st.Received+st.Lost+st.Filtered+st.Missed+st.Unread || st.Lost != 0 {
		t.Errorf("stats %+v", st)
	}
}

// TestAggregateLost checks that events without a value are counted as lost, and events that
// nobody reads as unread.
func TestAggregateLost(t *testing.T) { eachWay(t, checkAggregateLost) }

func checkAggregateLost(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Count().By("status").MaxGroups(2), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("fire 1")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := a.Stats()
	if err != nil || st.Fired != aggregateEvents || st.Lost+st.Filtered != 0 || st.Unread != st.Fired {
		t.Errorf("stats %+v, error %v", st, err)
	}

	path := compile(t, "gcc", "-O2")
	c := start(t, exec.Command(path))
	d := openAggregate(t, []string{path + ":args:text"}, attach.Max("arg2").By("arg0"), &attach.Options{Strings: []string{"arg0"}})
	c.Do("")
	groups, err := d.Read()
	if err != nil || len(groups) != 1 || groups[0].By[0].Value != "h\xc3\xa9llo" || groups[0].Max != int64(1) {
		t.Errorf("groups %+v, error %v", groups, err)
	}
}

// TestAggregateNothing checks that the zero Aggregation counts.
func TestAggregateNothing(t *testing.T) { everyWay(t, checkAggregateNothing) }

func checkAggregateNothing(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a, err := aggregateBy(t, t.Context(), []string{"agg:done"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	p.Do("fire 1")
	groups, err := a.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != aggregateEvents {
		t.Errorf("groups %+v, error %v", groups, err)
	}
}

func TestAggregateErrors(t *testing.T) { eachWay(t, checkAggregateErrors) }

func checkAggregateErrors(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for _, test := range []struct {
		what attach.Aggregation
		want string
	}{
		{attach.Count().By("size"), "aggregation: args:memory has no argument size: it has arg0, arg1, arg2, pid"},
		{attach.Sum("size"), "aggregation: args:memory has no argument size"},
		{attach.Sum("comm"), "aggregation: argument comm of args:memory is not a number"},
		{attach.Hist("arg0").Bounds(1), "a histogram has 2 to 1001 bounds, not 1"},
		{attach.Hist("arg0").Bounds(1, 1), "the bound 1 of a histogram is not a number greater"},
		{attach.Sum(""), "the name of the argument is empty"},
		{attach.Sum("arg0").And(attach.Max("arg1")), "of two arguments, arg0 and arg1"},
		{attach.Count().And(attach.Max("arg1").By("arg0")), "on the result of And"},
		{attach.Sum("arg0").Bounds(1, 2), "the aggregation has none"},
		{attach.Count().MaxGroups(5), "without By"},
		{attach.Count().By(strings.Split(strings.Repeat("comm,", 33)+"pid", ",")...), "keys of 536 bytes, and at most 512"},
	} {
		_, err := aggregateBy(t, t.Context(), []string{path + ":args:memory"}, test.what, nil)
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %s", test.what, err, test.want)
		}
	}
}

// TestAggregateEnds checks that Done follows the end of the traced processes.
func TestAggregateEnds(t *testing.T) { everyWay(t, checkAggregateEnds) }

func checkAggregateEnds(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	a := openAggregate(t, []string{"agg:done"}, attach.Count(), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("fire 1")
	if err := p.End(); err != nil {
		t.Error(err)
	}
	select {
	case <-a.Done():
	case <-time.After(time.Minute):
		t.Fatal("the aggregate did not notice that the process has ended")
	}
	if groups, err := a.Read(); err != nil || len(groups) != 1 || groups[0].Count != aggregateEvents {
		t.Errorf("groups %+v, error %v, want %d events", groups, err, aggregateEvents)
	}
}

// TestAggregateTotal reads intervals and totals of one aggregate: Read has each event once, Total
// has all of them, whoever is first, and groups by stack stay one.
func TestAggregateTotal(t *testing.T) { everyWay(t, checkAggregateTotal) }

func checkAggregateTotal(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	for _, by := range []string{"probe", "stack"} {
		a := openAggregate(t, []string{"agg:done"}, attach.Hist("status").And(attach.Avg("status")).By(by), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		check := func(name string, read func() ([]total.Group, error), events int) {
			t.Helper()
			groups, err := read()
			if err != nil {
				t.Fatal(err)
			}
			groups = slices.DeleteFunc(groups, func(g total.Group) bool { return g.Count == 0 })
			if events == 0 && len(groups) == 0 {
				return
			}
			if len(groups) != 1 || groups[0].Count != uint64(events) {
				t.Fatalf("by %s: %s has %+v, want %d events", by, name, groups, events)
			}
			n := uint64(0)
			for _, b := range groups[0].Hist {
				n += b.N
			}
			if n != uint64(events) {
				t.Errorf("by %s: the histogram of %s has %d values, want %d", by, name, n, events)
			}
		}
		const n = aggregateEvents
		check("the total", a.Total, 0)
		p.Do("fire 1")
		check("Read", a.Read, n)
		check("the total", a.Total, n)
		p.Do("fire 1")
		check("the total", a.Total, 2*n)
		check("the total", a.Total, 2*n)
		p.Do("fire 1")
		check("Read", a.Read, 2*n)
		check("Read", a.Read, 0)
		check("the total", a.Total, 3*n)
		if st, err := a.Stats(); err != nil || st.Received != 3*n || st.Lost > 0 {
			t.Errorf("%+v, %v", st, err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Total(); !errors.Is(err, attach.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}
