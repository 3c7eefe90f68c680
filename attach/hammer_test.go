package attach_test

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

var hammerEvents = flag.Uint64("hammer", 0, "events that TestHammer has programs handle (default 400,000, and a tenth of them if short)")

func init() { roles["hammer"] = tracee.Obey(hammerChild()) }

const hammerNames = 64 // of each thread

func hammerName(thread, n uint64) string { return fmt.Sprintf("thread-%d-%d", thread, n%hammerNames) }

// hammerChild fires from more operating-system threads than there are CPUs:
// "load", and "fire THREADS FIRST LAST".
func hammerChild() func(string) error {
	p := provider.New("hammer", nil)
	event := provider.NewProbe5[uint64, uint64, uint64, uint64, string](p, "event", "thread", "n", "twice", "pick", "name")
	start := provider.NewProbe1[uint64](p, "start", "id")
	end := provider.NewProbe2[uint64, uint64](p, "end", "id", "thread")
	measured := provider.NewProbe3[uint64, uint64, uint64](p, "measured", "thread", "inside", "outside")
	begin := time.Now()
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		var threads, first, last uint64
		if _, err := fmt.Sscanf(command, "fire %d %d %d", &threads, &first, &last); err != nil {
			return err
		}
		runtime.GOMAXPROCS(int(threads))
		var wg sync.WaitGroup
		for thread := range threads {
			wg.Go(func() {
				runtime.LockOSThread()
				var names [hammerNames]string
				for i := range names {
					names[i] = hammerName(thread, uint64(i))
				}
				for n := first; n < last; n++ {
					id := thread<<32 | n
					event.Fire(thread, n, 2*n+thread, n%16, names[n%hammerNames])
					before := time.Since(begin)
					start.Fire(id)
					started := time.Since(begin)
					ends := time.Since(begin)
					end.Fire(id, thread)
					after := time.Since(begin)
					measured.Fire(thread, uint64(ends-started), uint64(after-before))
				}
			})
		}
		wg.Wait()
		return nil
	}
}

// TestHammer fires from four threads per CPU, which preempt each other within BPF
// programs, and compares all results with what was fired. Whatever a program
// keeps belongs to one event: registers, stacks, memory.
func TestHammer(t *testing.T) {
	events := *hammerEvents
	if events == 0 {
		events = 400_000
		if testing.Short() {
			events /= 10
		}
	}
	const handled = 7 // events for each n: three of event, start and end, two of measured
	threads := 4 * uint64(runtime.NumCPU())
	last := events/handled/threads + 1

	p := startChild(t, "hammer")
	p.Do("load")
	opts := func() *attach.Options { return &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}} }
	aggregate := func(probe, value, by string) *attach.Aggregate {
		return openAggregate(t, []string{"hammer:" + probe}, attach.Hist(value).And(attach.Sum(value), attach.Min(value), attach.Max(value)).By(by), opts())
	}
	byThread, byName := aggregate("event", "twice", "thread"), aggregate("event", "n", "name")
	inside, outside := aggregate("measured", "inside", "thread"), aggregate("measured", "outside", "thread")
	latency, err := attach.OpenLatency(t.Context(), "hammer:start", "hammer:end", &attach.LatencyOptions{Key: []string{"id"}, By: []string{"thread"}}, opts())
	if err != nil {
		t.Fatal(err)
	}
	defer latency.Close()
	where := opts()
	where.Where = `pick == 3 && name ~ "thread-*"`
	s := openEvents(t, "hammer:event", &attach.EventOptions{RingSize: 64 << 20}, where)
	records := make(chan uint64)
	go func() { records <- hammerRecords(t, s) }()

	p.Do("fire %d 0 %d", threads, last)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	received := <-records
	st := checkSum(t, s)
	picked := threads * ((last + 12) / 16)
	if st.Fired != threads*last || st.Received != received || st.Received+st.Lost+st.Missed < picked || st.Filtered+picked > st.Fired || st.Filtered+st.Missed+picked < st.Fired {
		t.Errorf("records: stats %+v, %d received, want %d fired and %d of them wanted", st, received, threads*last, picked)
	}
	fired := st.Fired
	type totals interface {
		Stop() error
		Read() ([]total.Group, error)
		Stats() (attach.Stats, error)
	}
	read := func(a totals, events uint64) map[string]total.Group {
		t.Helper()
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		st := checkSum(t, a)
		if st.Fired != events || st.Received != events {
			t.Errorf("stats %+v, want %d fired and received", st, events)
		}
		fired += st.Fired
		all := map[string]total.Group{}
		for _, g := range groups {
			all[fmt.Sprint(g.By[0].Value)] = g
		}
		return all
	}
	threadGroups, nameGroups := read(byThread, threads*last), read(byName, threads*last)
	insides, outsides, latencies := read(inside, threads*last), read(outside, threads*last), read(latency, 2*threads*last)
	for thread := range threads {
		key := strconv.FormatUint(thread, 10)
		g := threadGroups[key]
		if sum := last*(last-1) + last*thread; g.Count != last || g.Sum != sum || g.Min != thread || g.Max != 2*(last-1)+thread || inBuckets(g) != last {
			t.Errorf("thread %d: %+v, want %d events and the sum %d", thread, g, last, sum)
		}
		checkNames(t, thread, last, nameGroups)
		in, out, l := insides[key], outsides[key], latencies[key]
		if in.Count != last || out.Count != last || l.Count != last || inBuckets(l) != last {
			t.Errorf("thread %d: %d, %d and %d latencies, want %d", thread, in.Count, out.Count, l.Count, last)
			continue
		}
		for what, values := range map[string][3]any{"sum": {in.Sum, l.Sum, out.Sum}, "min": {in.Min, l.Min, out.Min}, "max": {in.Max, l.Max, out.Max}} {
			if low, is, high := values[0].(uint64), values[1].(uint64), values[2].(uint64); is < low || is > high {
				t.Errorf("thread %d: %s of latencies is %d ns, want one from %d to %d", thread, what, is, low, high)
			}
		}
	}
	t.Logf("%d events by %d threads on %d CPUs; %d records received, %d lost", fired, threads, runtime.NumCPU(), st.Received, st.Lost)
}

// hammerRecords returns the number of events that the session delivers, which
// must be as they were fired, in the order of each thread.
func hammerRecords(t *testing.T, s *attach.Session) (received uint64) {
	next := map[uint64]uint64{}
	tids := map[uint64]int{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Error(err)
			continue
		}
		received++
		thread, n, twice := ev.Args[0].Value.(uint64), ev.Args[1].Value.(uint64), ev.Args[2].Value.(uint64)
		if tids[thread] == 0 {
			tids[thread] = ev.TID
		}
		if twice != 2*n+thread || ev.Args[3].Value != uint64(3) || n%16 != 3 || ev.Args[4].Value != hammerName(thread, n) || n < next[thread] || ev.TID != tids[thread] {
			t.Errorf("record %+v of thread %d, want twice %d, at least n %d", ev.Args, tids[thread], 2*n+thread, next[thread])
		}
		next[thread] = n + 1
	}
	return received
}

// checkNames compares the groups of a thread by name.
func checkNames(t *testing.T, thread, last uint64, groups map[string]total.Group) {
	t.Helper()
	var want [hammerNames]struct{ count, sum, max uint64 }
	for n := range last {
		w := &want[n%hammerNames]
		w.count, w.sum, w.max = w.count+1, w.sum+n, n
	}
	for i, w := range want {
		if w.count == 0 {
			continue
		}
		name := hammerName(thread, uint64(i))
		if g := groups[name]; g.Count != w.count || g.Sum != w.sum || g.Min != uint64(i) || g.Max != w.max || inBuckets(g) != w.count {
			t.Errorf("%s: %+v, want %d events, sum %d, from %d to %d", name, g, w.count, w.sum, i, w.max)
		}
	}
}

func inBuckets(g total.Group) (n uint64) {
	for _, b := range g.Hist {
		n += b.N
	}
	return n
}
