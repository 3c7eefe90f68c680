package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/groups"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

// sums is a deed that adds events up, in groups. Verbs say what is computed.
type sums struct {
	defaults
	*traceFlags
	by        []string
	interval  time.Duration
	maxGroups int
	order     format.Order
	show      groups.Show

	value string // the argument that is added up; "latency" of pairs; empty to count
	shown groups.Values
	start string         // of a latency; empty otherwise
	brief remark.Brevity // of the latencies
	what  attach.Aggregation
}

// grouping registers how events are grouped, and how groups are printed.
func (d *sums) grouping(set word.Set) {
	set.Add("by", &d.by)
	set.Add("interval", &d.interval)
	d.order.Sort = cmp.Or(d.order.Own, groups.Orders[0])
	set.Add("sort", &d.order.Sort)
	set.Add("top", &d.order.Top)
	set.Add("max-groups", &d.maxGroups)
	set.Add("stack", &d.stack)
}

// rest registers what all verbs that add up share.
func (d *sums) rest(set word.Set) {
	d.addedUp(set)
	d.said(set, format.Names())
	d.arguments(set)
}

// every is how often the groups are printed.
func (d *sums) every() time.Duration { return d.interval }

// prepare decides what is computed, with what the verb shows by itself.
func (d *sums) prepare(own groups.Values) (err error) {
	if d.shown, err = d.show.Values(own); err != nil {
		return err
	}
	return d.compute()
}

// compute makes the aggregation of what is shown.
func (d *sums) compute() (err error) {
	given := d.stack
	switch d.by, err = d.stack.Keys(d.by); {
	case err != nil:
		return fmt.Errorf("--by: %w", err)
	case d.given("stack") && d.stack != given:
		return fmt.Errorf("--by stack=%v and --stack=%v exclude each other", &d.stack, &given)
	}
	for i, key := range d.by {
		if slices.Contains(d.by[:i], key) {
			return fmt.Errorf("--by names %s twice", key)
		}
	}
	d.what = d.shown.Of(d.value).Bounds(d.shown.Bounds...).MaxGroups(d.maxGroups)
	switch {
	case d.given("max-groups") && len(d.by) == 0:
		return errors.New("--max-groups has no effect without --by: there is one group")
	case d.given("stack") && !d.byStack():
		return errors.New("--stack has no effect without a group for each stack: write --by stack, also beside other keys, as in --by pid,stack=dwarf")
	case d.replayed != nil && slices.Contains(d.shown.Names, "rate") && d.interval == 0:
		return errors.New("--show rate of recordings needs --interval, which says of how long")
	}
	return d.order.Check(d.shown.Names, len(d.by) > 0)
}

// byStack reports whether groups are by stack.
func (d *sums) byStack() bool { return slices.Contains(d.by, "stack") }

func (d *sums) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	if d.by = d.meanings.Keys(d.by, probes); d.meanings.Texts != nil {
		d.meanings.Texts.Value = d.value
	}
	a, err := attach.OpenAggregate(ctx, probes, d.what.By(d.by...).Interval(d.intervals(d.interval)), opts)
	return a, func() error { return d.print(ctx, a, to) }, err
}

// conclude reports the events that a sum lacks because of their argument. Recordings may have
// lost others.
func (d *sums) conclude(s session.Session, stderr io.Writer) error {
	if d.start != "" && !d.verbose { // -v has the figure
		d.brief.Announce(stderr, s)
	}
	if d.value == "" || d.start != "" || d.replayed != nil {
		return nil
	}
	st, err := s.Stats()
	if n := st.Lost - st.Full - st.Contended; err == nil && n > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s lost: %s could not be read, is not finite, or is beyond what can be added up\n", printable.Many(n, "event", "events"), d.value)
	}
	return err
}

// print writes groups, each interval and at the end.
func (d *sums) print(ctx context.Context, a session.Aggregate, to *showing) error {
	of := "events"
	if d.start != "" {
		of = "pairs"
	}
	o := &groups.Output{
		Interval: d.interval, Table: format.Table{Keys: d.by, Of: of}, Shown: &d.shown, Order: &d.order,
		Format: d.output, Meanings: &d.meanings, Unit: d.unit,
	}
	if l, ok := a.(*attach.Latency); ok && !d.quiet && d.replayed == nil {
		o.Seen = d.brief.See
		o.Waiting = l.Waiting
		o.Hang = func(starts uint64) {
			fmt.Fprintf(to.stderr, "sdttrace: %s waited longer than %v without an end\n", printable.Many(starts, "start has", "starts have"), d.interval)
		}
	}
	return o.Print(ctx, a, to.stdout, to.screen)
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
