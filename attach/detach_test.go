package attach_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
)

// TestDetachInBackground closes a session of perf events. At once no program runs
// any more; the number of events still to be removed falls to zero, and then
// sites and semaphores are as they were.
func TestDetachInBackground(t *testing.T) {
	path := compile(t, "gcc", "-O2", "-DSEMAPHORES")
	p := start(t, exec.Command(path))
	s := open(t, "args:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Link: attach.PerfLink})
	sites := s.Plan().Attached()
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(expired); s.Pending() != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("before Close %d events are pending, Wait returns %v", s.Pending(), err)
	}
	p.Do("")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	last := s.Pending()
	if last > sites {
		t.Errorf("%d events are pending of %d", last, sites)
	}
	p.Do("") // unharmed
	if st := checkSum(t, s); st.Fired != uint64(sites) {
		t.Errorf("%d firings at %d sites, want none after Close", st.Fired, sites)
	}
	if err := s.Wait(expired); err == nil && s.Pending() > 0 || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Wait returns %v while %d events are pending", err, s.Pending())
	}
	var seen []int
	for last > 0 {
		n := s.Pending()
		if n > last {
			t.Fatalf("%d events are pending after %d", n, last)
		}
		if n < last {
			seen = append(seen, n)
		}
		last = n
		time.Sleep(time.Millisecond)
	}
	t.Logf("%d sites, then pending: %v", sites, seen)
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"args:bare", "args:ints", "args:text"} {
		live.Check(t, p.PID(), name, 0x90, 0)
	}
	p.Do("")
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
