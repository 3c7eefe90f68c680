package site

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestCloseTwice checks that a later call of Close waits for the first one, which
// the end of a context may have made.
func TestCloseTwice(t *testing.T) {
	a := Unattached(nil)
	started := make(chan bool)
	released := false
	a.WhenReleased(func() {
		close(started)
		time.Sleep(20 * time.Millisecond) // the other goroutine is in Close by then
		released = true
	})
	go a.Close()
	<-started
	if a.Close(); !released {
		t.Error("Close has returned before all was released")
	}
}

// TestWaitForLate checks that Wait waits for links that a rescan made while the
// attachment was being closed.
func TestWaitForLate(t *testing.T) {
	a, more := Unattached(nil), Unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more.closing.Do(func() { more.pending = 1 }) // its event is still being closed
	if err := a.Adopt(more); err != nil {
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

// TestAdoptTooLate adopts sites that were found while the attachment ended.
func TestAdoptTooLate(t *testing.T) {
	a := Unattached(nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	more := Unattached(Plan{{Report: Report{Attached: true}}})
	if err := a.Adopt(more); err != nil {
		t.Error(err)
	}
	if err := more.Wait(t.Context()); err != nil {
		t.Errorf("it is not detached: %v", err)
	}
	n := 0
	if a.LookAt(0, func(plan Plan) { n = plan.Attached() }); n != 1 {
		t.Errorf("%d sites in the plan, want the one that may have fired", n)
	}
}
