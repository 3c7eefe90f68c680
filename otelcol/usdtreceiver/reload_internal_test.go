package usdtreceiver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// TestKeptTwice keeps traces twice, as reloads that follow each other do: when the time of the first
// ones has passed, those kept later stay.
func TestKeptTwice(t *testing.T) {
	const name = "twice"
	ended := map[*running]bool{}
	start := func() *running {
		r := &running{done: make(chan struct{})}
		r.cancel = func() { ended[r] = true; close(r.done) }
		return r
	}
	now := func() *leftovers {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		return kept.of[name]
	}
	first, again := start(), start()
	keep(name, []*running{first})
	early := now()
	if n := len(*takeKept(name)); n != 1 {
		t.Fatalf("%d traces were kept, want 1", n)
	}
	keep(name, []*running{first, again}) // by the receiver that has taken the first one
	early.expire(name)
	if len(ended) != 0 {
		t.Error("the end of the first time has ended a trace that was kept again")
	}
	now().expire(name)
	if !ended[first] || !ended[again] {
		t.Errorf("of two traces that nobody has taken, %d have ended", len(ended))
	}
	if rest := *takeKept(name); len(rest) != 0 {
		t.Errorf("%d traces are left", len(rest))
	}
}

// TestSuspendedMeanwhile checks that what a session has read is handed on if it is suspended while the
// collector reloads its configuration.
func TestSuspendedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := envOf(&Trace{Name: "kept", Logs: &Logs{}})
		e.disconnect()
		session, suspend := context.WithCancel(t.Context())
		suspend()
		done := make(chan bool)
		go func() {
			done <- deliver(session, e, 1, func(context.Context, any) error { return nil })
		}()
		time.Sleep(keeping / 2)
		e.connect(&outlet{log: zap.NewNop()})
		if !<-done || e.counts.refused.Load() != 0 {
			t.Errorf("%d events are refused", e.counts.refused.Load())
		}
	})
}
