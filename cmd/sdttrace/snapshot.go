package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-usdt/usdt/attach"
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

func (d *snapshots) words(set wordSet) {
	set.add("before", &d.before)
	set.add("after", &d.after)
	set.add("every", &d.atMost)
	d.target(set)
	d.single(set)
	d.recordings(set)
	d.said(set, lineFormats())
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
	switch {
	case d.before < 0:
		return fmt.Errorf("--before %d is negative", d.before)
	case d.after < 0:
		return fmt.Errorf("--after %d is negative", d.after)
	case d.atMost < 0:
		return fmt.Errorf("--every %v is negative", d.atMost)
	}
	return nil
}

func (d *snapshots) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session, func() error, error) {
	s, err := attach.Open(ctx, probes, opts)
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
	n := uint64(0)
	for snap, err := range s.Snapshots(f.options()) {
		if where := (*attach.WhereError)(nil); errors.As(err, &where) {
			return fmt.Errorf("EXPR: %w", err)
		}
		if err != nil {
			return err
		}
		n++
		for i := range snap.Events {
			if f.output.readable {
				f.meanings.event(&snap.Events[i])
			}
		}
		if _, err := stdout.Write(f.output.snapshot(nil, &snap, n)); err != nil {
			return outputError(err)
		}
		if n == f.limit {
			break
		}
	}
	return nil
}

// appendSnapshot appends a snapshot as text: a line that says what it is, and its
// events, of which the one that fulfils the condition is marked.
func appendSnapshot(dst []byte, snap *attach.Snapshot, n uint64) []byte {
	dst = fmt.Appendf(dst, "snapshot %d: %d events before, %d after", n, snap.On, len(snap.Events)-snap.On-1)
	if snap.Skipped > 0 {
		dst = fmt.Appendf(dst, "; %d more events since the last one fulfil the condition", snap.Skipped)
	}
	dst = append(dst, '\n')
	for i := range snap.Events {
		mark := "  "
		if i == snap.On {
			mark = "> "
		}
		dst = append(appendText(append(dst, mark...), &snap.Events[i]), '\n')
	}
	return dst
}

// appendSnapshotJSON appends a snapshot as an object: the events, the index of the one
// that fulfils the condition, and how many others have since the last snapshot.
func appendSnapshotJSON(dst []byte, snap *attach.Snapshot, n uint64) []byte {
	dst = strconv.AppendUint(append(dst, `{"snapshot":`...), n, 10)
	dst = strconv.AppendInt(append(dst, `,"on":`...), int64(snap.On), 10)
	dst = strconv.AppendUint(append(dst, `,"skipped":`...), snap.Skipped, 10)
	dst = append(dst, `,"events":[`...)
	for i := range snap.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = snap.Events[i].AppendJSON(dst)
	}
	return append(dst, "]}\n"...)
}
