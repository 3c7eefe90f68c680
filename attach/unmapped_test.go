package attach_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() { roles["unmapped"] = tracee.Obey(unmappedChild()) }

// unmappedChild maps its probes, each time in a new memory file, at the command
// "load", and unmaps them at "close".
func unmappedChild() func(command string) error {
	p := provider.New("unmapped", nil)
	hit := provider.NewProbe1[uint64](p, "hit", "n")
	loads := uint64(0)
	return func(command string) error {
		switch command {
		case "load":
			loads++
			return p.Load()
		case "fire":
			hit.Fire(loads)
		case "close":
			return p.Close()
		}
		return nil
	}
}

// TestUnmapped checks that a session of named processes stays as large as it is
// while one of them maps and unmaps files without a name: they leave no sites,
// numbers or links behind, and every event of each of them arrives.
func TestUnmapped(t *testing.T) {
	for _, test := range []struct {
		name   string
		others int // more processes that are named
		link   attach.LinkKind
	}{
		{"one", 0, attach.AutoLink},
		{"one by perf events", 0, attach.PerfLink},
		{"many", 12, attach.AutoLink},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startChild(t, "unmapped")
			pids := []int{p.PID()}
			for range test.others {
				pids = append(pids, startChild(t, "unmapped").PID())
			}
			// The test calls Rescan itself.
			o := &attach.Options{Target: attach.Target{PIDs: pids}, Link: test.link, Rescan: time.Hour, Await: true}
			s := open(t, "unmapped:*", o)
			events := make(chan string)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ev, err := range s.Events() {
					if err != nil {
						t.Error(err)
						continue
					}
					events <- fmt.Sprint(ev.PID, " ", ev.Args[0].Value)
				}
			}()
			rescan := func() {
				t.Helper()
				if err := s.Rescan(); err != nil {
					t.Fatal(err)
				}
			}
			load := 0
			turn := func() {
				load++
				p.Do("load")
				rescan()
				if plan := s.Plan(); plan.Attached() != 1 || len(plan) != 1 {
					t.Fatalf("attached %d of %d sites when the probes are mapped for the %d. time, want 1 of 1: %+v", plan.Attached(), len(plan), load, plan)
				}
				p.Do("fire")
				if got, want := <-events, fmt.Sprint(p.PID(), " ", load); got != want {
					t.Errorf("event with PID and number %s, want %s", got, want)
				}
				p.Do("close")
				awaitLeft(t, s, rescan)
			}
			for range 3 {
				turn()
			}
			first := held(t)
			for range 10 {
				turn()
			}
			after := heldAgain(t, first)
			grown := after.heap - first.heap
			after.heap = first.heap
			if after != first || grown > 64<<10 {
				t.Errorf("%+v and %d bytes more after %d times, %+v before", after, grown, load, first)
			}
			if n := attach.SiteNumbers(s); n > 2 {
				t.Errorf("%d numbers of sites for one at a time", n)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			<-done
			if st := checkSum(t, s); st.Received != uint64(load) {
				t.Errorf("%+v, want %d events", st, load)
			}
			if err := errors.Join(s.Close(), s.Wait(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}
