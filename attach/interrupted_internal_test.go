package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// countdown is a context that is done after some number of calls of Err.
type countdown struct {
	context.Context
	mu    sync.Mutex
	left  int
	asked func() // nil, or called each time
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != nil {
		c.asked()
	}
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// TestInterrupted interrupts Open wherever it checks its context, from the first
// look to the last link, and checks that it ends there and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	LoadOwn(t, "interrupted")
	for _, test := range []struct {
		name string
		o    Options
	}{
		{"process", Options{Target: Target{PIDs: []int{os.Getpid()}}}},
		{"perf events", Options{Target: Target{PIDs: []int{os.Getpid()}}, Link: PerfLink}},
		{"machine", Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			selectors := []string{"interrupted:*"}
			before := leftover.Descriptors(t)
			// Searching the machine checks often: a few places will do.
			for n, step := 0, 1; ; n += step {
				ctx := &countdown{Context: t.Context(), left: n}
				s, err := Open(ctx, selectors, &test.o)
				if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
					needs.Skip(t, "%v", err)
				}
				if err == nil {
					ctx.left = -1
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					if err := s.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					if n < 5 {
						t.Errorf("Open has asked its context %d times", n)
					}
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("interrupted at place %d: %v", n, err)
				}
				if leftover.Back(t, before); t.Failed() {
					t.Fatalf("interrupted at place %d", n)
				}
				step = n/3 + 1
			}
		})
	}
}

// TestReaderGoesOn checks that readers of events do not wait while late sites are
// planned, however long that takes.
func TestReaderGoesOn(t *testing.T) {
	probe := LoadOwn(t, "goeson")
	s, err := Open(t.Context(), []string{"goeson:fired"}, &Options{Target: Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour})
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	next := make(chan int)
	go func() {
		defer close(next)
		for ev, err := range s.Events() {
			if err != nil {
				t.Error(err)
			}
			next <- len(ev.Args)
			s.Idle()
		}
	}()
	asked := 0
	ctx := &countdown{Context: t.Context(), left: -1}
	ctx.asked = func() {
		asked++
		probe.Fire(1)
		select {
		case <-next:
		case <-time.After(time.Minute):
			t.Error("no event arrives while late sites are planned")
			ctx.asked = nil
		}
	}
	again := site.Plan{{Report: site.Report{Probe: s.Plan()[0].Probe, PID: os.Getpid()}}}
	s.extend(ctx, again, time.Time{})
	if asked < 3 || s.Plan().Attached() != 2 {
		t.Errorf("asked %d times; plan %+v", asked, s.Plan())
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	for more := true; more; { // the site fires twice now
		_, more = <-next
	}
}

// TestEventsGoOn checks that Events and Views go on after an event whose
// arguments cannot be decoded.
func TestEventsGoOn(t *testing.T) {
	probe := LoadOwn(t, "eventsgoon")
	for _, views := range []bool{false, true} {
		s, err := Open(t.Context(), []string{"eventsgoon:fired"}, &Options{Target: Target{PIDs: []int{os.Getpid()}}})
		if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
			needs.Skip(t, "%v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		probe.Fire(1)
		probe.Fire(2)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		sc := s.sites.Load().Schemas[0]
		good := sc.Layout
		bad := *good
		bad.Slots += 8 // no record is that long
		sc.Layout = &bad
		var got []string
		note := func(name string, pid, args int, err error) {
			got = append(got, fmt.Sprintf("%s %t %d %t", name, pid == os.Getpid(), args, err != nil))
			sc.Layout = good
		}
		if views {
			for v, err := range s.Views() {
				note(v.Probe().Name, v.PID(), v.Len(), err)
			}
		} else {
			for ev, err := range s.Events() {
				note(ev.Name, ev.PID, len(ev.Args), err)
			}
		}
		if want := []string{"fired true 0 true", "fired true 1 false"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("views %t: got %q, want %q", views, got, want)
		}
	}
}
