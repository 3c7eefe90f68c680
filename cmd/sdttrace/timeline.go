package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/perfetto"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

var timelineVerb = verb{
	use:   "timeline [PROBE...]",
	short: "Draw events and pairs over time, for ui.perfetto.dev",
	about: `timeline writes a file that ui.perfetto.dev draws: for each thread and process a track, on
which each event is an instant, with its arguments and, with --stack, its calls; --span
shows pairs of probes as slices. Times are those of the boot clock, as in Perfetto's traces
of the kernel: cat makes one trace of both. The file can be read while it grows.`,
	examples: `  sdttrace timeline -o shop.pftrace 'shop:*' --duration 10s
  sdttrace timeline -o shop.pftrace --span shop:request_start,shop:request_done:id
  sdttrace timeline -o two.pftrace --flow request 'front:*' 'stock:*'   arrows between them
  sdttrace timeline -o gc.pftrace --counter collected 'python:gc__done'
  sdttrace timeline -o crash.pftrace --from /var/crash    of recordings, by the wall clock`,
	does: func(f *traceFlags) deed { return &timelining{spanning: spanning{traceFlags: f}} },
}

// timelining writes events as a timeline.
type timelining struct {
	spanning
	flows, counters []string
}

func (d *timelining) words(set wordSet) {
	set.add("flow", &d.flows)
	set.add("counter", &d.counters)
	d.spanning.words(set)
	d.recordings(set)
	d.said(set, nil)
}

func (d *timelining) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	t, err := session.Watch(ctx, probes, d.texts, opts)
	return t, func() error { return d.write(t, to) }, err
}

// write writes events and slices until there are enough or no more.
func (f *timelining) write(t *session.Timeline, to *showing) (err error) {
	out, err := f.outputs.Create(f.out, to.stdout)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	o := &perfetto.Options{Flows: f.flows, Counters: f.counters, Recorded: f.replayed != nil}
	if f.replayed == nil {
		o.Names = nameOfProcess
	}
	w := &timelineWriter{w: perfetto.New(out, o), limit: f.limit, cancel: to.cancel}
	w.writeAll(t)
	for _, l := range t.Losses() {
		w.w.Loss(l.From, l.To, l.N)
	}
	if flows, counters := w.w.Missing(); !f.quiet {
		for _, path := range flows {
			fmt.Fprintf(to.stderr, "sdttrace: --flow %s drew nothing: no event had this argument\n", path)
		}
		for _, path := range counters {
			fmt.Fprintf(to.stderr, "sdttrace: --counter %s drew nothing: no event had this argument, as a number\n", path)
		}
	}
	return errors.Join(w.failed, output.Error(w.w.Flush()))
}

// timelineWriter writes what a session delivers.
type timelineWriter struct {
	w      *perfetto.Writer
	failed error // the first one
	n      uint64
	limit  uint64
	cancel context.CancelFunc
}

// writeAll writes until there is enough or no more. It flushes the output if no event
// follows now.
func (w *timelineWriter) writeAll(t *session.Timeline) {
	flushes := t.Matched() && t.Via() != attach.ViaKernel
	t.Each(func(one *session.Delivered, err error) bool {
		w.failed = cmp.Or(w.failed, err)
		if one.Event != nil && one.Event.Probe != nil && w.another() {
			w.w.Event(one.Event)
		}
		for i := range one.Pairs {
			if p := &one.Pairs[i]; p.Start.Probe != nil && one.End.Probe != nil && w.another() {
				w.w.Slice(&p.Start, one.End, len(t.Spans[p.Span].Key) > 0)
			}
		}
		idle := flushes || t.Idle()
		if w.limit > 0 && w.n == w.limit || idle && w.w.Flush() != nil || w.w.Err() != nil {
			w.cancel()
			return false
		}
		return true
	})
}

// another counts what is to be written, unless there is enough.
func (w *timelineWriter) another() bool {
	if w.limit > 0 && w.n == w.limit {
		return false
	}
	w.n++
	return true
}

// nameOfProcess returns the name of a process's first thread, "" if it has ended.
func nameOfProcess(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}
