package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
	"github.com/go-usdt/usdt/total"
)

// groupOutput prints the groups of an aggregate.
type groupOutput struct {
	*sums
	out    *bufio.Writer
	screen *screen.Screen // nil unless groups are drawn in place
	idle   format.IdleGroups
	read   time.Time // when groups were last read
	line   []byte
}

// print writes groups, each interval and at the end.
func (f *sums) print(ctx context.Context, a aggregate, to *showing) error {
	on := to.screen
	o := &groupOutput{sums: f, out: bufio.NewWriter(to.stdout), screen: on, read: time.Now()}
	var tick <-chan time.Time
	if f.interval > 0 && a.Via() != attach.ViaRecording {
		t := time.NewTicker(f.interval)
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
func (o *groupOutput) write(a aggregate, whole bool) error {
	groups, err := a.Read()
	if err != nil {
		return err
	}
	now := time.Now()
	took := now.Sub(o.read)
	o.read = now
	if a.Via() == attach.ViaRecording {
		took = o.interval
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
func (o *groupOutput) writeInterval(groups []total.Group, at time.Time, took time.Duration, whole bool, plan attach.Plan) error {
	f := o.sums
	if f.interval > 0 && whole {
		groups = o.idle.Fill(groups, len(f.by) > 0)
	}
	f.order.Arrange(groups)
	some, others, events := f.order.First(groups)
	line := format.Group{At: at}
	if f.shown.rate {
		line.Seconds = took.Seconds()
	}
	if o.sums.output.Readable {
		line.Unit = f.unit(plan)
		if len(f.by) > 0 {
			o.meanings.Groups(some, plan)
		}
	}
	if o.screen != nil {
		line.At = time.Time{}
	}
	text := o.line[:0]
	for i := range some {
		line.Group = &some[i]
		f.shown.hide(line.Group)
		text = o.sums.output.Group(text, &line)
		if o.screen == nil {
			if _, err := o.out.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	if others > 0 && o.sums.output.Readable {
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

// unit returns the unit of the value.
func (f *sums) unit(plan attach.Plan) format.Unit {
	m := &f.meanings
	if f.start != "" {
		return "ns"
	}
	if f.value == "" {
		return ""
	}
	if param := m.Param(f.value, plan); param != nil {
		return format.Unit(param.Unit)
	}
	return ""
}
