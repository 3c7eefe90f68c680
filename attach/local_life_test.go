package attach_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["localmachine"] = localMachine }

// livingProvider declares a probe that tracers without privileges may watch.
func livingProvider(t testing.TB, name string) (*provider.Provider, *provider.Probe1[int]) {
	t.Helper()
	p := provider.New(name, &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	probe := provider.NewProbe1[int](p, "done", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	return p, probe
}

// localOwn are options to trace this process through shared memory.
func localOwn() *attach.Options {
	return &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}, Via: attach.ViaLocal}}
}

// TestLocalCancelled cancels the opening of sessions at all times, also while the process
// does not answer: Open returns the cause soon, or a session, which then ends.
func TestLocalCancelled(t *testing.T) {
	_, probe := livingProvider(t, "localcancelled")
	cause := errors.New("enough")
	for i := range 40 {
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(time.Duration(i)*100*time.Microsecond, func() { cancel(cause) })
		if i == 0 {
			cancel(cause)
		}
		s, err := attach.Open(ctx, []string{"localcancelled:done"}, localOwn())
		switch {
		case err == nil:
			inTime(t, "the end of a session", time.Minute, func() {
				for _, err := range s.Events() {
					if err != nil {
						t.Error(err)
					}
				}
			})
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			checkSum(t, s)
		case !errors.Is(err, cause):
			t.Errorf("after %d00 µs: %v", i, err)
		}
		timer.Stop()
		cancel(nil)
	}
	for deadline := time.Now().Add(time.Minute); probe.Enabled(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the probe is enabled though nobody watches it")
		}
	}
	p := startChild(t, "localhostile")
	p.Do("silent")
	o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}}
	took := time.Hour
	for range 5 { // an answer is waited for two seconds; others may have the CPU
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
		began := time.Now()
		if _, err := attach.Open(ctx, []string{"localhostile:*"}, o); !errors.Is(err, cause) {
			t.Errorf("of a process that does not answer: %v", err)
		}
		if took = min(took, time.Since(began)); took < 1500*time.Millisecond {
			break
		}
	}
	if took > 1500*time.Millisecond {
		t.Errorf("cancelling takes %v", took)
	}
}

// TestLocalClosedByAll calls all methods of a session and an aggregate at the same time,
// while events fire, and closes them in several goroutines.
func TestLocalClosedByAll(t *testing.T) {
	_, probe := livingProvider(t, "localclosed")
	for range 3 {
		o := localOwn()
		o.Rescan = time.Millisecond
		s, err := attach.Open(t.Context(), []string{"localclosed:*"}, o)
		if err != nil {
			t.Fatal(err)
		}
		a, err := attach.OpenAggregate(t.Context(), []string{"localclosed:*"}, attach.Sum("n").By("n"), o)
		if err != nil {
			t.Fatal(err)
		}
		var halt atomic.Bool
		var firing, calling sync.WaitGroup
		firing.Go(func() {
			for n := 0; !halt.Load(); n++ {
				if probe.Fire(n % 10); n%50 == 0 {
					time.Sleep(200 * time.Microsecond) // the race detector makes readers slow
				}
			}
		})
		check := func(err error) {
			t.Helper()
			if err != nil && !errors.Is(err, attach.ErrClosed) {
				t.Error(err)
			}
		}
		for range 2 {
			calling.Go(func() {
				for _, err := range s.Views() {
					check(err)
				}
			})
			calling.Go(func() {
				for range 4 {
					_, err := s.Stats()
					check(err)
					check(s.Rescan())
					s.Idle()
					s.Plan()
					_, err = a.Stats()
					check(err)
					check(a.Rescan())
					_, err = a.Read()
					check(err)
				}
				for range 2 {
					check(s.Close())
					check(a.Close())
					check(s.Stop())
					check(a.Stop())
				}
				check(s.Wait(t.Context()))
			})
		}
		inTime(t, "closing", 60*time.Second, calling.Wait)
		halt.Store(true)
		firing.Wait()
		checkSum(t, s)
		checkSum(t, a)
	}
}

// TestLocalReloaded traces a process by its number whose provider is closed and loaded
// again, and which executes itself anew: events of each life arrive.
func TestLocalReloaded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it loads many times, and no kernel makes a difference")
	}
	p := startChild(t, "reloaded")
	p.Do("load")
	s, err := attach.Open(t.Context(), []string{"reloaded:*"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}, Rescan: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var received atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, err := range s.Events() {
			if err != nil {
				t.Error(err)
			}
			received.Add(1)
		}
	}()
	const lives = 6
	for life := range lives + 1 {
		inTime(t, fmt.Sprintf("finding the probes of life %d", life), time.Minute, func() {
			for s.Plan().Attached() != 1 {
				runtime.Gosched()
			}
		})
		p.Do("fire")
		if life == lives {
			break
		}
		if life%2 == 0 {
			p.Do("close")
		} else {
			p.Send("exec")
		}
		inTime(t, fmt.Sprintf("leaving the probes of life %d", life), time.Minute, func() {
			for s.Plan().Attached() != 0 {
				runtime.Gosched()
			}
		})
		p.Do("load")
	}
	p.Kill()
	inTime(t, "the end", time.Minute, func() { <-done })
	if st := checkSum(t, s); received.Load() != 3*(lives+1) || st.Received != 3*(lives+1) || st.Lost != 0 {
		t.Errorf("%d events, stats %+v of %d lives", received.Load(), st, lives)
	}
}

func init() {
	roles["reloaded"] = tracee.Obey(func() func(string) error {
		var p *provider.Provider
		var probe *provider.Probe1[int]
		return func(command string) error {
			switch command {
			case "load":
				p = provider.New("reloaded", &provider.Options{Local: true})
				probe = provider.NewProbe1[int](p, "done", "n")
				return p.Load()
			case "close":
				return p.Close()
			case "exec":
				return syscall.Exec("/proc/self/exe", os.Args, tracee.Self("reloaded").Env)
			}
			for n := range 3 {
				probe.Fire(n)
			}
			return nil
		}
	}())
}

// TestLocalCrowd opens as many sessions as a process admits, which all get every event,
// and one more.
func TestLocalCrowd(t *testing.T) {
	_, probe := livingProvider(t, "localcrowd")
	var all []*attach.Session
	var err error
	for {
		var s *attach.Session
		if s, err = attach.Open(t.Context(), []string{"localcrowd:done"}, localOwn()); err != nil {
			break
		}
		defer s.Close()
		if all = append(all, s); len(all) > 100 {
			t.Fatal("there is no limit")
		}
	}
	if !errors.Is(err, attach.ErrNoSite) || !strings.Contains(err.Error(), "the process has as many tracers as it admits") || strings.Contains(err.Error(), "\n") {
		t.Errorf("after %d sessions: %v", len(all), err)
	}
	if len(all) != 16 {
		t.Errorf("%d sessions, want the 16 of SECURITY.md", len(all))
	}
	for n := range 10 {
		probe.Fire(n)
	}
	if err := all[0].Close(); err != nil {
		t.Error(err)
	}
	again, err := attach.Open(t.Context(), []string{"localcrowd:done"}, localOwn())
	if err != nil {
		t.Fatalf("in the place of one that was closed: %v", err)
	}
	defer again.Close()
	for i, s := range all[1:] {
		if events := drain(t, s); len(events) != 10 {
			t.Errorf("session %d has %d events, want 10", i, len(events))
		}
		checkSum(t, s)
	}
}

// localMachine traces a probe of all processes by any way until a line comes, and writes
// the way and the PIDs of events.
func localMachine(args []string) error {
	s, err := attach.Open(context.Background(), args, &attach.Options{Rescan: time.Millisecond, Await: true})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(s.Via())
	for ev, err := range s.Events() {
		if err != nil {
			return err
		}
		fmt.Println(ev.PID)
	}
	return nil
}

// TestLocalAnyMachine traces all processes as a user without privileges, by any way:
// processes that offer their probes later are found, and other users' processes are left
// out.
func TestLocalAnyMachine(t *testing.T) {
	needs.Root(t)
	t.Setenv("USDT_LOCAL", "1")
	tracer := start(t, become(t, tracee.Self("localmachine", "typed:bare"), nobody))
	if got := tracer.Line(); got != "local" {
		t.Fatalf("events come by way %q", got)
	}
	var seen sync.Map // lines
	go func() {
		for {
			line, err := tracer.Next()
			if err != nil {
				return
			}
			seen.Store(line, true)
		}
	}()
	other := startChild(t, "typed") // root's
	other.Do("load")
	for range 2 {
		p := start(t, become(t, tracee.Self("typed"), nobody))
		p.Do("load")
		inTime(t, "finding a process", time.Minute, func() {
			for found := false; !found; _, found = seen.Load(fmt.Sprint(p.PID())) {
				other.Do("bare")
				p.Do("bare")
			}
		})
		p.Kill()
	}
	if _, found := seen.Load(fmt.Sprint(other.PID())); found {
		t.Error("another user's process is traced")
	}
}

// TestViaBothOnce traces all processes by both ways: an event of one that offers its
// probes arrives once.
func TestViaBothOnce(t *testing.T) {
	_, probe := livingProvider(t, "bothonce")
	for _, pids := range [][]int{nil, {os.Getpid()}} {
		o := &attach.Options{Target: attach.Target{PIDs: pids, Via: attach.ViaBoth}, Rescan: time.Hour}
		s := open(t, "bothonce:*", o)
		a := openAggregate(t, []string{"bothonce:*"}, attach.Count().By("pid"), o)
		for range 2 {
			if err := errors.Join(s.Rescan(), a.Rescan()); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 100 {
			probe.Fire(n)
		}
		events := drain(t, s)
		groups, err := a.Read()
		if len(events) != 100 || err != nil || len(groups) != 1 || groups[0].Count != 100 {
			t.Errorf("PIDs %d: %d events, groups %+v, %v", pids, len(events), groups, err)
		}
		if st := checkSum(t, s); st.Fired != 100 || s.Plan().Attached() != 1 {
			t.Errorf("PIDs %d: stats %+v of %+v", pids, st, s.Plan())
		}
		if st := checkSum(t, a); st.Fired != 100 {
			t.Errorf("PIDs %d: stats %+v", pids, st)
		}
		s.Close()
		a.Close()
	}
}
