// Package groups prints the groups of an aggregate, and has the values that they are shown with.
package groups

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/total"
)

// Output prints the groups of an aggregate.
type Output struct {
	Interval time.Duration // zero to print them once
	Keyed    bool          // there may be several groups
	Shown    *Values
	Order    *format.Order
	Format   *format.Format
	Meanings *format.Meanings
	Unit     func(attach.Plan) format.Unit // of the value

	out    *bufio.Writer
	screen *screen.Screen // nil unless groups are drawn in place
	idle   format.IdleGroups
	read   time.Time // when groups were last read
	line   []byte
}

// Print writes groups to a writer, or to a screen that is not nil, each interval and at the end.
func (o *Output) Print(ctx context.Context, a session.Aggregate, w io.Writer, on *screen.Screen) error {
	o.out, o.screen, o.read = bufio.NewWriter(w), on, time.Now()
	var tick <-chan time.Time
	if o.Interval > 0 && a.Via() != attach.ViaRecording {
		t := time.NewTicker(o.Interval)
		defer t.Stop()
		tick = t.C
	}
	changes, stop := on.Changes()
	defer stop()
	for {
		select {
		case change := <-changes:
			on.Change(change)
			continue
		case <-tick:
			if err := o.write(a, true); err != nil {
				return output.Error(err)
			}
			continue
		case <-a.Done():
		case <-ctx.Done():
		}
		if err := a.Stop(); err != nil {
			return err
		}
		on.Keep()
		defer on.Keep() // above the summary
		return output.Error(o.write(a, a.Via() == attach.ViaRecording))
	}
}

// write reads the groups and writes them. The last interval, which is not whole, has no
// idle groups.
func (o *Output) write(a session.Aggregate, whole bool) error {
	groups, err := a.Read()
	if err != nil {
		return err
	}
	now := time.Now()
	took := now.Sub(o.read)
	o.read = now
	if a.Via() == attach.ViaRecording {
		took = o.Interval
	}
	plan := a.Plan()
	for first := true; first || len(groups) > 0; first = false {
		n := 0
		for n < len(groups) && groups[n].At.Equal(groups[0].At) {
			n++
		}
		at := now
		if n > 0 && !groups[0].At.IsZero() {
			at = groups[0].At
		}
		if n == 0 && a.Via() == attach.ViaRecording {
			break
		}
		if err := o.writeInterval(groups[:n:n], at, took, whole, plan); err != nil {
			return err
		}
		groups = groups[n:]
	}
	return o.out.Flush()
}

// writeInterval writes the groups of an interval that ends at a time.
func (o *Output) writeInterval(groups []total.Group, at time.Time, took time.Duration, whole bool, plan attach.Plan) error {
	if o.Interval > 0 && whole {
		groups = o.idle.Fill(groups, o.Keyed)
	}
	o.Order.Arrange(groups)
	some, others, events := o.Order.First(groups)
	line := format.Group{At: at}
	if o.Shown.Rate {
		line.Seconds = took.Seconds()
	}
	if o.Format.Readable {
		line.Unit = o.Unit(plan)
		if o.Keyed {
			o.Meanings.Groups(some, plan)
		}
	}
	if o.screen != nil {
		line.At = time.Time{}
	}
	text := o.line[:0]
	for i := range some {
		line.Group = &some[i]
		o.Shown.hide(line.Group)
		text = o.Format.Group(text, &line)
		if o.screen == nil {
			if _, err := o.out.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	if others > 0 && o.Format.Readable {
		if !line.At.IsZero() {
			text = append(line.At.AppendFormat(text, "15:04:05.000000"), ' ')
		}
		text = format.AppendOthers(text, others, events)
	}
	o.line = text
	if o.screen != nil {
		return o.screen.Draw(title(groups, at, took), text)
	}
	_, err := o.out.Write(text)
	return err
}

// title returns the line above groups that are drawn in place.
func title(groups []total.Group, at time.Time, took time.Duration) string {
	var events uint64
	for i := range groups {
		events += groups[i].Count
	}
	return fmt.Sprintf("%s  %s events in %s", at.Format("15:04:05"), format.AppendCount(nil, events), format.AppendDuration(nil, took.Round(10*time.Millisecond)))
}
