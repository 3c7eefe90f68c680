package attach_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

// kills is how often either side is killed.
var kills = flag.Int("kills", 0, "processes that TestLocalFlood… kill (default 3)")

func killRounds() int { return cmp.Or(*kills, 3) }

func init() {
	roles["localflood"] = func(args []string) error { return tracee.Obey(floodingChild(args[0]))(nil) }
	roles["floodtracer"] = floodTracer
}

const floodGoroutines = 4

// floodingChild fires from several goroutines from "flood" to "halt".
func floodingChild(path string) func(string) error {
	p := provider.New("localflood", &provider.Options{Local: true})
	flood := provider.NewProbe3[int, uint64, string](p, "event", "g", "n", "text")
	var halt atomic.Bool
	var running sync.WaitGroup
	var count tracee.Counters
	return func(command string) (err error) {
		switch command {
		case "load":
			if count, err = tracee.OpenCounters(path, floodGoroutines); err != nil {
				return err
			}
			return p.Load()
		case "flood":
			for g := range floodGoroutines {
				running.Go(func() {
					for n := uint64(0); !halt.Load(); n++ {
						flood.Fire(g, n, "sixteen bytes ok"[:n%17])
						count[g].N.Store(n + 1)
					}
				})
			}
		case "halt":
			halt.Store(true)
			running.Wait()
		}
		return nil
	}
}

func startFlood(t testing.TB) (*tracee.Program, tracee.Counters) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fired")
	count, err := tracee.OpenCounters(path, floodGoroutines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { count.Close() })
	p := start(t, tracee.Self("localflood", path))
	p.Do("load")
	return p, count
}

// floodTracer traces a process until it is killed.
func floodTracer(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	o := &attach.Options{Target: attach.Target{PIDs: []int{pid}, Via: attach.ViaLocal}}
	a, err := attach.OpenAggregate(context.Background(), []string{"localflood:event"}, attach.Count().By("g"), o)
	if err != nil {
		return err
	}
	o.Where = "g != 1"
	s, err := attach.Open(context.Background(), []string{"localflood:event"}, o)
	if err != nil {
		return err
	}
	n := 0
	for _, err := range s.Views() {
		if err != nil {
			return err
		}
		if n++; n == 1000 {
			fmt.Println("floods")
		}
	}
	return a.Close()
}

// floodWheres are conditions of which the process tests all, a part and nothing.
var floodWheres = []string{"", "g > 0", `g > 0 && text ~ "*o*"`, `text ~ "*o*"`}

// TestLocalFloodKilled kills a process while it fires as fast as it can. All that it has
// fired is received or counted, except the last event of each goroutine, which may have
// been recorded without being counted by the goroutine.
func TestLocalFloodKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a flood leaves an emulated processor no time to answer")
	}
	var received, full, contended uint64
	for round := range killRounds() {
		p, count := startFlood(t)
		where := floodWheres[round%len(floodWheres)]
		o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}, Where: where}
		s := openEvents(t, "localflood:event", &attach.EventOptions{RingSize: 1 << 20}, o)
		a := openAggregate(t, []string{"localflood:event"}, attach.Count().By("g"), o)
		p.Do("flood")
		n := 0
		for _, err := range s.Views() {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1000*(1+round%5) {
				p.Kill()
			}
		}
		<-a.Done()
		want := count.Sum()
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, g := range groups {
			sum += g.Count
		}
		for _, st := range []attach.Stats{checkSum(t, s), checkSum(t, a)} {
			if st.Fired < want || st.Fired > want+floodGoroutines || st.Unread != 0 || st.Missed != 0 {
				t.Errorf("where %q: stats %+v of %d events", where, st, want)
			}
			if where == "" && st.Filtered != 0 || st.Lost < st.Full+st.Contended || st.Lost > st.Full+st.Contended+floodGoroutines {
				t.Errorf("where %q: stats %+v", where, st)
			}
			received, full, contended = received+st.Received, full+st.Full, contended+st.Contended
		}
		if st := checkSum(t, a); sum != st.Received {
			t.Errorf("groups of %d events, stats %+v", sum, st)
		}
		if st := checkSum(t, s); uint64(n) != st.Received {
			t.Errorf("%d events, stats %+v", n, st)
		}
		s.Close()
		a.Close()
	}
	t.Logf("%d received, %d lost since the memory was full, %d contended", received, full, contended)
}

// TestLocalFloodTracersKilled kills tracers of a process that fires as fast as it can,
// while another one counts all, and checks that nothing of them is left.
func TestLocalFloodTracersKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a flood leaves an emulated processor no time to answer")
	}
	p, count := startFlood(t)
	s := open(t, "localflood:event", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}, Where: "g >= 2"})
	p.Do("flood")
	done := make(chan uint64)
	go func() {
		n := uint64(0)
		for _, err := range s.Views() {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		done <- n
	}()
	for range killRounds() {
		tracer := start(t, tracee.Self("floodtracer", strconv.Itoa(p.PID())))
		if got := tracer.Line(); got != "floods" {
			t.Fatalf("the tracer says %q", got)
		}
		tracer.Kill()
	}
	p.Do("halt")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	received := <-done
	st := checkSum(t, s)
	if want := count.Sum(); st.Fired != want || st.Received != received || st.Lost != st.Full+st.Contended {
		t.Errorf("%d received, stats %+v of %d events", received, st, want)
	}
	if st.Filtered != count[0].N.Load()+count[1].N.Load() {
		t.Errorf("stats %+v, want %d filtered", st, count[0].N.Load()+count[1].N.Load())
	}
	t.Logf("%+v", st)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := open(t, "localflood:event", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}})
	if st := checkSum(t, again); st.Fired != 0 {
		t.Errorf("stats %+v after all has ended", st)
	}
}
