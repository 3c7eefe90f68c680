package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
	"github.com/go-usdt/usdt/internal/printable"
)

var snapshotVerb = verb{
	use:   "snapshot EXPR PROBE...",
	short: "Print what happened around events that fulfil a condition",
	about: `snapshot prints only what happened around events that fulfil EXPR, a condition as
--where has it: the events before such an event, of all probes, and those after it, as
one unit. In JSON that is one object. --limit counts snapshots.`,
	examples: `  sdttrace snapshot 'status >= 500' 'myapp:*'
  sdttrace snapshot 'took > 1s' --before 500 --after 0 'myapp:*'
  sdttrace snapshot 'comm == "worker" && n == 0' --every 10s --json 'pool:*'
  sdttrace snapshot 'status >= 500' --limit 1 'myapp:*'      the first one
  sdttrace snapshot 'status >= 500' --from /var/crash        of what recordings have kept`,
	does: func(f *traceFlags) deed {
		return &snapshots{traceFlags: f, before: 100, after: 20, atMost: time.Second}
	},
}

// snapshots prints what happened around some events only.
type snapshots struct {
	defaults
	*traceFlags
	on            string
	before, after int
	atMost        time.Duration
}

func (d *snapshots) words(set word.Set) {
	set.Add("before", &d.before)
	set.Add("after", &d.after)
	set.Add("every", &d.atMost)
	d.target(set)
	d.single(set)
	d.recordings(set)
	d.said(set, format.Names())
	d.arguments(set)
}

func (d *snapshots) take(args []string) (probes []string, err error) {
	d.on, probes, err = takeOne(args, "EXPR, the condition of a snapshot, e.g. 'status >= 500'")
	return probes, err
}

func (d *snapshots) check([]string) error {
	if err := (&attach.Options{Where: d.on}).Validate(); err != nil {
		return fmt.Errorf("EXPR: %w", openError(err))
	}
	return nil
}

func (d *snapshots) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	d.events.On = d.on
	s, err := attach.OpenEvents(ctx, probes, &d.events, opts)
	if where := (*attach.WhereError)(nil); errors.As(err, &where) && where.Where == d.on {
		err = usageError{fmt.Errorf("EXPR: %v", where)} // not wrapped: that would be --where
	}
	return s, func() error { return d.print(s, to.stdout) }, err
}

// options returns the options of snapshots. There, 0 stands for the default.
func (f *snapshots) options() attach.SnapshotOptions {
	number := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return attach.SnapshotOptions{On: f.on, Before: number(f.before), After: number(f.after), Every: f.atMost}
}

// print writes snapshots until there are enough, or no more.
func (f *snapshots) print(s *attach.Session, stdout io.Writer) error {
	for snap, err := range s.Snapshots(f.options()) {
		if where := (*attach.WhereError)(nil); errors.As(err, &where) {
			return fmt.Errorf("EXPR: %w", err)
		}
		if err != nil {
			return err
		}
		f.taken++
		for i := range snap.Events {
			f.meanings.Event(&snap.Events[i], f.output.Readable)
		}
		if _, err := stdout.Write(f.output.Snapshot(nil, &snap, f.taken)); err != nil {
			return output.Error(err)
		}
		if f.taken == f.limit {
			break
		}
	}
	return nil
}

// conclude says how many events fulfilled the condition that have no snapshot.
func (f *snapshots) conclude(s session.Session, stderr io.Writer) error {
	if all, ok := s.(*attach.Session); ok && all.Skipped() > 0 {
		fmt.Fprintf(stderr, "sdttrace: %s fulfilled %s, in a snapshot or within --every %v of one\n", printable.Many(all.Skipped(), "other event", "other events"), f.on, f.atMost)
	}
	return nil
}
