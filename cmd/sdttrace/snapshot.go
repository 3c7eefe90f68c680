package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
)

// snapshotFlags are the flags that print what happened around some events only.
type snapshotFlags struct {
	on            string
	before, after int
	every         time.Duration
}

func (f *snapshotFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.on, "snapshot-on", "", "print what happened around events that fulfil this condition, e.g. 'status >= 500'")
	flags.IntVar(&f.before, "before", 100, "with --snapshot-on: events before it")
	flags.IntVar(&f.after, "after", 20, "with --snapshot-on: events after it")
	flags.DurationVar(&f.every, "snapshot-every", time.Second, "with --snapshot-on: at most one snapshot in this time")
}

// options returns the options of snapshots. There, 0 stands for the default.
func (f *snapshotFlags) options() attach.SnapshotOptions {
	number := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return attach.SnapshotOptions{On: f.on, Before: number(f.before), After: number(f.after), Every: f.every}
}

// printSnapshots writes snapshots until there are enough events that fulfil the
// condition, or no more.
func (f *traceFlags) printSnapshots(s *attach.Session, stdout io.Writer) error {
	n := uint64(0)
	for snap, err := range s.Snapshots(f.snapshots.options()) {
		if where := (*attach.WhereError)(nil); errors.As(err, &where) {
			return fmt.Errorf("--snapshot-on: %w", err)
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
