package usdtreceiver

import (
	"cmp"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/go-usdt/usdt/event"
)

// budget is how many logs or spans, and bytes, of a second are delivered. Beyond it one in so many is,
// and beyond that the trace is suspended.
type budget struct {
	e                         *env
	since                     time.Time
	most, left                int // of this second
	mostBytes, leftBytes      int
	came, passed, passedBytes int
	oneIn                     int
	sampled                   bool // as telemetry says
}

// thinnest is the least part that is delivered: to read the rest only to leave it out is not worth it.
const thinnest = 100

// calm is the part of the budget with which a trace counts as within it again.
const calm = 0.8

func newBudget(e *env, t *Trace) *budget {
	return &budget{e: e, most: cmp.Or(t.MaxEventsPerSecond, defaultMaxEvents), mostBytes: t.MaxBytesPerSecond, oneIn: 1}
}

// pass reports whether one more event is within the budget, and counts it if not.
func (b *budget) pass(now time.Time) bool {
	if passed := now.Sub(b.since); passed >= time.Second {
		b.second(passed)
		b.since, b.left, b.leftBytes = now, b.most, b.mostBytes
		b.came, b.passed, b.passedBytes = 0, 0, 0
	}
	b.came++
	if b.came%b.oneIn == 0 && b.left > 0 && (b.mostBytes == 0 || b.leftBytes > 0) {
		b.left--
		b.passed++
		return true
	}
	b.e.counts.overBudget.Add(1)
	return false
}

// spend counts the size of what has passed.
func (b *budget) spend(bytes int) {
	b.leftBytes -= bytes
	b.passedBytes += bytes
}

// second chooses what part of the next second's events passes, by what came in the last one.
func (b *budget) second(took time.Duration) {
	rate := float64(b.came) / took.Seconds()
	part := rate / float64(b.most)
	if b.mostBytes > 0 && b.passed > 0 {
		part = max(part, rate*float64(b.passedBytes)/float64(b.passed)/float64(b.mostBytes))
	}
	oneIn := 1
	for float64(oneIn) < part {
		oneIn++
		if oneIn > thinnest {
			b.e.stop(&overBudget{fmt.Sprintf("%.0f events a second are more than %d times what may be delivered", rate, thinnest)})
			return
		}
	}
	switch {
	case oneIn > 1 && !b.sampled:
		b.sampled = true
		b.e.counts.setState(stateSampled)
		b.e.log().Warn("Events exceed the budget; one in so many is delivered.", zap.Int("one_in", oneIn), zap.Float64("events_per_second", rate))
	case part <= calm && b.sampled: // near the budget it would be said again and again
		b.sampled = false
		b.e.counts.setState(stateAll)
		b.e.log().Info("Events are within the budget again.")
	}
	b.oneIn = oneIn
}

// overBudget is why a trace is suspended.
type overBudget struct{ why string }

func (e *overBudget) Error() string { return e.why }

// sizeOf returns about how many bytes a log record or a span with these attributes takes.
func sizeOf(args []event.Arg) int {
	const rest = 64 // times, names, identifiers
	n := rest
	for i := range args {
		n += len(args[i].Name)
		switch v := args[i].Value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		case event.Struct:
			n += sizeOf(v)
		case event.List:
			n += sizeOf(v)
		default:
			n += 10
		}
	}
	return n
}
