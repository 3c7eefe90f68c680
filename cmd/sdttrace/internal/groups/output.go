// Package groups prints the groups of an aggregate, and has the values that they are shown with.
package groups

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
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
	Table    format.Table
	Shown    *Values
	Order    *format.Order
	Format   *format.Format
	Meanings *format.Meanings
	Unit     func(attach.Plan) format.Unit // of the value
	// Waiting returns how many starts have waited longer than a time, which Hang is told when that
	// changes from one interval to the next; nil for sums without starts.
	Waiting func(time.Duration) (uint64, error)
	Hang    func(starts uint64)
	// Seen is told each time which groups there are; nil if nobody wants to know.
	Seen func([]total.Group)

	hang   uint64       // what Hang was told last
	pace   session.Pace // of looks for what hangs
	to     io.Writer
	out    *bufio.Writer
	screen *screen.Screen // nil unless groups are drawn in place
	idle   format.IdleGroups
	heats  heats
	read   time.Time // when groups were last read
	text   []byte
}

// Print writes groups to a writer, or to a screen that is not nil, each interval and at the end.
func (o *Output) Print(ctx context.Context, a session.Aggregate, w io.Writer, on *screen.Screen) error {
	o.to, o.out, o.screen, o.read = w, bufio.NewWriter(w), on, time.Now()
	o.Table.Names, o.Table.Steps = o.Shown.Names, o.Shown.Bounds != nil
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
			if read, err := o.next(a, true); !read || err != nil {
				return err
			}
			if err := o.sayHanging(); err != nil {
				return err
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
		_, err := o.next(a, a.Via() == attach.ViaRecording)
		return err
	}
}

// sayHanging says how many starts have waited for longer than an interval.
func (o *Output) sayHanging() error {
	if o.Waiting == nil {
		return nil
	}
	o.pace.Every = o.Interval
	return o.pace.Do(func() error {
		n, err := o.Waiting(o.Interval)
		if err == nil && n != o.hang {
			o.hang = n
			o.Hang(n)
		}
		return err
	})
}

// next reads the groups and writes them, and reports whether somebody still reads the output.
func (o *Output) next(a session.Aggregate, whole bool) (read bool, err error) {
	groups, err := a.Read()
	if err != nil {
		return true, err
	}
	if o.Seen != nil {
		o.Seen(groups)
	}
	err = o.write(a, groups, whole)
	return err == nil, output.Error(err)
}

// write writes groups. The last interval, which is not whole, has no
// idle groups.
func (o *Output) write(a session.Aggregate, groups []total.Group, whole bool) error {
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
		groups = o.idle.Fill(groups, len(o.Table.Keys) > 0)
	}
	o.Order.Arrange(groups)
	in := format.Interval{At: at, Took: took}
	for i := range groups {
		in.Events += groups[i].Count
	}
	in.Groups, in.Others, in.Hidden = o.Order.First(groups)
	heat := ""
	if o.screen != nil && slices.ContainsFunc(groups, func(g total.Group) bool { return g.Hist != nil }) {
		rows := o.heats.add(groups)[:len(in.Groups)]
		in.Heat = func(columns int) []string {
			lines, lo, hi := heatLines(rows, columns)
			heat = fmt.Sprintf("; heat %s–%s of %d × %v", in.Unit.Bound(lo, false), in.Unit.Bound(hi, false), intervals, o.Interval)
			return lines
		}
	}
	if o.Format.Readable {
		in.Unit = o.Unit(plan)
		if len(o.Table.Keys) > 0 {
			o.Meanings.Groups(in.Groups, plan)
			o.Table.Keys = keysOf(in.Groups, o.Table.Keys)
		}
	}
	for i := range in.Groups {
		o.Shown.hide(&in.Groups[i])
	}
	if o.Interval > 0 && !whole && len(groups) == 0 {
		return nil
	}
	o.Table.Width, o.Table.Drawn = screen.Width(o.to), o.screen != nil
	o.text = o.Format.Groups(o.text[:0], &o.Table, &in)
	if o.screen != nil {
		return o.screen.Draw(o.Table.Title(&in, time.TimeOnly)+heat, o.text)
	}
	_, err := o.out.Write(o.text)
	return err
}

// keysOf returns the names of the keys that groups have, others if there are no groups.
func keysOf(groups []total.Group, others []string) []string {
	if len(groups) == 0 {
		return others
	}
	var keys []string
	for i := range groups[0].By {
		keys = append(keys, groups[0].By[i].Name)
	}
	return keys
}

// By says by which keys groups are made.
func By(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return ", --by " + strings.Join(keys, ",")
}
