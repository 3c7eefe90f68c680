package attach_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["latency"] = tracee.Obey(latencyChild()) }

// latencyChild fires lat:start and lat:end as its commands say:
//
//	start ID PATH    end ID CODE    sleep MS    threads N PAIRS
func latencyChild() func(string) error {
	p := provider.New("lat", nil)
	start := provider.NewProbe2[uint32, string](p, "start", "id", "path")
	end := provider.NewProbe3[int64, string, int32](p, "end", "id", "path", "code")
	return func(command string) error {
		var what, path string
		var id, n int64
		fmt.Sscan(command, &what, &id)
		switch what {
		case "load":
			return p.Load()
		case "start":
			fmt.Sscan(command, &what, &id, &path)
			start.Fire(uint32(id), path)
		case "end":
			fmt.Sscan(command, &what, &id, &path, &n)
			end.Fire(id, path, int32(n))
		case "sleep":
			time.Sleep(time.Duration(id) * time.Millisecond)
		case "threads":
			fmt.Sscan(command, &what, &id, &n)
			var wg sync.WaitGroup
			for thread := range id {
				wg.Go(func() {
					for i := range n {
						key := thread*n + i
						start.Fire(uint32(key), "/")
						end.Fire(key, "/", int32(i%2))
					}
				})
			}
			wg.Wait()
		default:
			return fmt.Errorf("unknown command %q", command)
		}
		return nil
	}
}

func openLatency(t testing.TB, what *attach.LatencyOptions, opts *attach.Options) *attach.Latency {
	t.Helper()
	a, err := latencyBy(t, t.Context(), "lat:start", "lat:end", what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestLatency compares groups with what the traced program did, for numbers and
// text as keys.
func TestLatency(t *testing.T) { everyWay(t, checkLatency) }

func checkLatency(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	for _, key := range []string{"id", "path", "id,path,pid"} {
		t.Run(key, func(t *testing.T) {
			a := openLatency(t, &attach.LatencyOptions{Key: strings.Split(key, ","), By: []string{"code"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			p.Do("start 1 one")
			p.Do("start 2 two")
			p.Do("sleep 20")
			p.Do("end 2 two 200")
			p.Do("end 2 two 200") // without a start
			p.Do("start 3 three") // skips its end
			p.Do("start 3 three")
			p.Do("sleep 40")
			p.Do("end 3 three 200")
			p.Do("end 1 one 500")
			p.Do("start 4 four") // does not end
			groups, err := a.Read()
			if err != nil || len(groups) != 2 {
				t.Fatalf("groups %+v, error %v, want 2", groups, err)
			}
			for i, want := range []struct {
				code     int64
				n        uint64
				min, max time.Duration
			}{{200, 2, 20 * time.Millisecond, 40 * time.Millisecond}, {500, 1, 60 * time.Millisecond, 60 * time.Millisecond}} {
				g := groups[i]
				least, most := time.Duration(g.Min.(uint64)), time.Duration(g.Max.(uint64))
				var n uint64
				for _, b := range g.Hist {
					n += b.N
				}
				if g.By[0].Value != want.code || g.Count != want.n || n != want.n || least < want.min || most < want.max || most > 10*time.Second {
					t.Errorf("group %+v, want %+v", g, want)
				}
				if avg := g.Avg.(float64); avg < float64(least) || avg > float64(most) || avg != float64(g.Sum.(uint64))/float64(g.Count) {
					t.Errorf("average %v of %+v", avg, g)
				}
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			pairs, err := a.Pairs()
			if want := (attach.PairStats{Pairs: 3, Pending: 2, Unstarted: 1}); err != nil || pairs != want {
				t.Errorf("pairs %+v, error %v, want %+v", pairs, err, want)
			}
			if st := checkSum(t, a); st.Fired != 9 || st.Received != 6 || st.Filtered != 3 {
				t.Errorf("stats %+v, want 9 fired, 6 received, 3 filtered", st)
			}
		})
	}
}

// TestLatencyOfThreads checks that several threads at once pair their own events,
// and that nothing is lost between two reads.
func TestLatencyOfThreads(t *testing.T) { eachWay(t, checkLatencyOfThreads) }

func checkLatencyOfThreads(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	const threads = 4
	each := 5000
	if testing.Short() { // on emulated machines an event takes a millisecond
		each = 300
	}
	for _, key := range [][]string{nil, {"id"}} {
		a := openLatency(t, &attach.LatencyOptions{Key: key}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		fired := make(chan struct{})
		go func() {
			defer close(fired)
			p.Do("threads %d %d", threads, each)
		}()
		var n uint64
		for done := false; !done; {
			select {
			case <-fired:
				done = true
			case <-time.After(time.Millisecond):
			}
			groups, err := a.Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				n += g.Count
			}
		}
		pairs, err := a.Pairs()
		if err != nil {
			t.Fatal(err)
		}
		st, err := a.Stats()
		if err != nil || st.Fired != uint64(2*threads*each) || st.Fired != st.Received+st.Lost+st.Filtered+st.Missed+st.Unread || pairs.Pairs != n {
			t.Errorf("stats %+v, error %v, pairs %+v, %d read", st, err, pairs, n)
		}
		if want := uint64(threads * each); n > want || n < want-st.Missed {
			t.Errorf("by %v: %d pairs, want %d: %+v", key, n, want, pairs)
		}
	}
}

// TestLatencyWhere checks that a condition is tested where its arguments are, and
// that no start stays behind whose end did not pass.
func TestLatencyWhere(t *testing.T) { everyWay(t, checkLatencyWhere) }

func checkLatencyWhere(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	for _, test := range []struct {
		where string
		pairs attach.PairStats
		st    attach.Stats
	}{
		{"code >= 500", attach.PairStats{Pairs: 1, Dropped: 1}, attach.Stats{Fired: 4, Found: 2, Received: 2, Filtered: 2}},
		{`path != "/b"`, attach.PairStats{Pairs: 1, Dropped: 1}, attach.Stats{Fired: 4, Found: 2, Received: 2, Filtered: 2}},
		{`path == "/b" && code < 500 && pid != 1`, attach.PairStats{Pairs: 1, Dropped: 1}, attach.Stats{Fired: 4, Found: 2, Received: 2, Filtered: 2}},
		{"pid == 1", attach.PairStats{Dropped: 2}, attach.Stats{Fired: 4, Found: 2, Filtered: 4}},
	} {
		a := openLatency(t, &attach.LatencyOptions{Key: []string{"id"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where})
		p.Do("start 1 /a")
		p.Do("start 2 /b")
		p.Do("end 1 /a 500")
		p.Do("end 2 /b 200")
		if _, err := a.Read(); err != nil {
			t.Fatal(err)
		}
		pairs, err := a.Pairs()
		if d := cmp.Diff(test.pairs, pairs); d != "" || err != nil {
			t.Errorf("%s: error %v, pairs (-want +got):\n%s", test.where, err, d)
		}
		if d := cmp.Diff(test.st, checkSum(t, a)); d != "" {
			t.Errorf("%s: stats (-want +got):\n%s", test.where, d)
		}
	}
	_, err := latencyBy(t, t.Context(), "lat:start", "lat:end", nil, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: "nothing == 1"})
	if where := (*attach.WhereError)(nil); !errors.As(err, &where) {
		t.Errorf("error %v of a condition that fits neither probe", err)
	}
}

// TestLatencyEviction fires more starts than there is room for, and checks that
// every one is counted.
func TestLatencyEviction(t *testing.T) { everyWay(t, checkLatencyEviction) }

func checkLatencyEviction(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	a := openLatency(t, &attach.LatencyOptions{Key: []string{"id"}, MaxPending: 512}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	starts := uint64(2000)
	if testing.Short() {
		starts = 800
	}
	for i := range starts {
		p.Do("start %d /", i)
	}
	for i := range starts {
		p.Do("end %d / 0", i)
	}
	if _, err := a.Read(); err != nil {
		t.Fatal(err)
	}
	pairs, err := a.Pairs()
	if err != nil || pairs.Pairs == 0 || pairs.Pairs > 512 || pairs.Evicted != starts-pairs.Pairs || pairs.Unstarted != pairs.Evicted || pairs.Pending != 0 {
		t.Errorf("pairs %+v, error %v, of %d starts with room for 512", pairs, err, starts)
	}
	if st := checkSum(t, a); st.Lost != pairs.Evicted || st.Fired != 2*starts {
		t.Errorf("stats %+v of %+v", st, pairs)
	}
}

func TestLatencyErrors(t *testing.T) { everyWay(t, checkLatencyErrors) }

func checkLatencyErrors(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	for _, test := range []struct {
		start, end string
		what       attach.LatencyOptions
		want       string
	}{
		{"lat:start", "lat:end", attach.LatencyOptions{Key: []string{"code"}}, "lat:start has no argument code: it has id, path, pid, tid, comm, cpu, uid, cgroup, container, pod"},
		{"lat:start", "lat:end", attach.LatencyOptions{By: []string{"nothing"}}, "lat:end has no argument nothing, nor has lat:start: the end has code, both have id, path, pid, tid, comm, cpu, uid, cgroup, container, pod, probe, stack"},
		{"lat:start", "lat:end", attach.LatencyOptions{Key: []string{"machine"}}, "the key machine needs an argument"},
		{"lat:start", "lat:*", attach.LatencyOptions{}, "lat:start is named as start and as end"},
		{"lat:start", "lat:end", attach.LatencyOptions{MaxPending: -1}, "-1 is not between"},
		{"lat:start", "lat:end", attach.LatencyOptions{MaxGroups: 5}, "without By"},
	} {
		_, err := latencyBy(t, t.Context(), test.start, test.end, &test.what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		needPrivileges(t, err)
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %s", test, err, test.want)
		}
	}
}

// BenchmarkLatency measures the cost of an event of a pair that the kernel
// matches by goroutine, by thread and by an argument.
func BenchmarkLatency(b *testing.B) {
	const pairs = 10_000 // at a time
	for _, key := range []string{"goroutine", "tid", "id"} {
		b.Run(key, func(b *testing.B) {
			p := startChild(b, "latency")
			p.Do("load")
			var names []string
			if key != "goroutine" {
				names = []string{key}
			}
			a := openLatency(b, &attach.LatencyOptions{Key: names}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
			for b.Loop() {
				p.Do("threads 1 %d", pairs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*pairs), "ns/event")
			if err := a.Close(); err != nil {
				b.Fatal(err)
			}
			if st := checkSum(b, a); st.Fired != uint64(b.N*2*pairs) {
				b.Errorf("stats %+v, want %d fired", st, b.N*2*pairs)
			}
		})
	}
}
