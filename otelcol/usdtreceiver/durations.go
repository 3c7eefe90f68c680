package usdtreceiver

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// durationsTask makes a span of each event that says how long something took which has ended with it.
type durationsTask struct {
	trace *Trace
}

func (t *durationsTask) of() *Trace { return t.trace }

func (t *durationsTask) signal() string { return "traces" }

func (t *durationsTask) run(ctx context.Context, e *env) error {
	w := t.trace.Spans
	s, err := opening(ctx, e, func() (*attach.Session, error) {
		return attach.OpenEvents(ctx, t.trace.Probes, &attach.EventOptions{RingSize: t.trace.ringSize()}, t.trace.options())
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer e.attached(s)()
	w.joins().check(e, s)
	within := newBudget(e, t.trace)
	failed := s.CheckArgument(w.Duration)
	b := t.trace.newSpanBatch(ctx, e)
	for v, err := range s.Views() {
		if failed != nil {
			break
		}
		if err != nil {
			failed = err
			break
		}
		if !within.pass(time.Now()) {
			continue
		}
		took, ok := time.Duration(0), true
		if value, has := v.Argument(w.Duration); has && value.Value != nil { // else the span has no length
			took, ok = durationOf(value.Value, unitsOfTime[w.Unit])
		}
		if !ok {
			failed = fmt.Errorf("duration: %s is no number", w.Duration)
			break
		}
		ev, err := v.Event()
		if err != nil {
			failed = err
			break
		}
		within.spend(sizeOf(ev.Args))
		b.add(t.trace.spanOf(before(ev, took)))
	}
	b.close()
	return ended(ctx, failed, s.Close())
}

// before returns what an event has ended, which took so long, as a pair. It has the arguments.
func before(ev event.Event, took time.Duration) attach.Pair {
	p := attach.Pair{Start: ev, End: event.Event{Time: ev.Time, PID: ev.PID, TID: ev.TID}, Took: took}
	p.Start.Time = ev.Time.Add(-took)
	return p
}

// durationOf returns a number as a time, which is not negative.
func durationOf(v any, unit time.Duration) (took time.Duration, ok bool) {
	n := 0.0
	switch v := v.(type) {
	case time.Duration:
		return max(v, 0), true
	case int64:
		if v <= math.MaxInt64/int64(unit) {
			return max(time.Duration(v)*unit, 0), true
		}
		n = float64(v)
	case uint64:
		if v <= uint64(math.MaxInt64/unit) {
			return time.Duration(v) * unit, true
		}
		n = float64(v)
	case float64:
		n = v
	default:
		return 0, false
	}
	if n *= float64(unit); n < math.MaxInt64 {
		return time.Duration(max(n, 0)), true
	}
	return math.MaxInt64, true // NaN also
}
