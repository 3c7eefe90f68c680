package usdtreceiver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// envOf returns what a trace has that delivers logs.
func envOf(t *Trace) *env {
	e := newRunning(&logsTask{t}).env
	e.connect(&outlet{log: zap.NewNop()})
	e.whole = context.Background()
	return e
}

// TestSteady checks that a trace whose rate is near its budget is not called sampled and then not, again
// and again, and delivers no more than it may.
func TestSteady(t *testing.T) {
	trace := &Trace{Name: "steady", MaxEventsPerSecond: 100, Logs: &Logs{}}
	e := envOf(trace)
	b := newBudget(e, trace)
	now, changes, state := time.Unix(1000, 0), 0, e.counts.state.Load()
	second := func(events int) (passed int) {
		for i := range events {
			if b.pass(now.Add(time.Duration(i) * time.Second / time.Duration(events))) {
				passed++
			}
		}
		now = now.Add(time.Second)
		if is := e.counts.state.Load(); is != state {
			changes, state = changes+1, is
		}
		return passed
	}
	for i := range 100 {
		if n := second(90 + 20*(i%2)); n > 100 {
			t.Errorf("%d events of a second are delivered", n)
		}
	}
	if changes != 1 || state != stateSampled {
		t.Errorf("%d changes of the state, which is %s", changes, states[state])
	}
	second(50)
	if second(50) != 50 || state != stateAll {
		t.Errorf("with half of the events, the state is %s", states[state])
	}
}

// TestHopeless checks that a trace which ends while the pipeline refuses its events waits once, not for
// each of its batches, and counts all.
func TestHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := envOf(&Trace{Name: "ends", Logs: &Logs{}})
		ctx, cancel := context.WithCancel(t.Context())
		e.whole = ctx
		refuse := func(context.Context, any) error { return errors.New("the queue is full") }
		began := time.Now()
		deliver(ctx, e, 1, refuse)
		deliver(ctx, e, 1, refuse)
		if took := time.Since(began); took != 2*patience {
			t.Errorf("two batches take %v, want %v", took, 2*patience)
		}
		cancel()
		for range 1000 {
			deliver(ctx, e, 512, refuse)
		}
		if took := time.Since(began); took != 3*patience {
			t.Errorf("the end takes %v after %v", took-2*patience, 2*patience)
		}
		if n := e.counts.refused.Load(); n != 2+1000*512 {
			t.Errorf("%d events are refused, want %d", n, 2+1000*512)
		}
	})
}
