package attach

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestCloseTwice holds that whoever closes later waits for the first one, who
// may be the end of a context.
func TestCloseTwice(t *testing.T) {
	a := unattached(nil)
	started := make(chan bool)
	released := false
	a.whenReleased(func() {
		close(started)
		time.Sleep(20 * time.Millisecond) // the other one is in Close by then
		released = true
	})
	go a.Close()
	<-started
	if a.Close(); !released {
		t.Error("Close has returned before all was released")
	}
}

// TestWaitForLate holds that Wait waits for what a rescan attached to while the
// attachment was being closed.
func TestWaitForLate(t *testing.T) {
	a, more := unattached(nil), unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more.closing.Do(func() { more.pending = 1 }) // its event is still being closed
	if err := a.adopt(more); err != nil {
		t.Fatal(err)
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := a.Pending(), a.Wait(expired); n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d events are pending, want 1; Wait returns %v", n, err)
	}
	more.pending = 0
	close(more.completed)
	if n, err := a.Pending(), a.Wait(t.Context()); n != 0 || err != nil {
		t.Errorf("%d events are pending, want none; Wait returns %v", n, err)
	}
}

// TestHoldFails holds that what is no process cannot be traced by chance.
func TestHoldFails(t *testing.T) {
	before := descriptors(t)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	thread := 0 // any but the first
	for _, task := range tasks {
		if id, err := strconv.Atoi(task.Name()); err == nil && id != os.Getpid() {
			thread = id
		}
	}
	for _, pid := range []int{thread, 1 << 30} {
		if procs, err := process.Hold([]int{os.Getpid(), pid}); err == nil {
			procs.Close()
			t.Errorf("%d is held, which is no process", pid)
		}
	}
	if now := descriptors(t); now > before {
		t.Errorf("%d descriptors, %d before", now, before)
	}
}

// TestAggregateFails holds that an aggregate tells at its end what went wrong
// meanwhile.
func TestAggregateFails(t *testing.T) {
	a, err := OpenAggregate(t.Context(), []string{"/proc/self/exe:no:probe"}, Count(), &Options{Await: true, Rescan: time.Hour})
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) {
		needs.Skip(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("late")
	a.fail(want)
	if err := a.Close(); !errors.Is(err, want) {
		t.Errorf("Close returns %v, want %v", err, want)
	}
	if err := a.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
