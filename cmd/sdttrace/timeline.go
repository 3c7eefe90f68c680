package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/perfetto"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

var timelineVerb = verb{
	use:   "timeline [PROBE...]",
	short: "Draw events and pairs over time, for ui.perfetto.dev",
	about: `timeline writes a file that ui.perfetto.dev draws: for each thread and process a track, on
which each event is an instant, with its arguments and, with --stack, its calls; --span
shows pairs of probes as slices. Times are those of the boot clock, as in Perfetto's traces
of the kernel: cat makes one trace of both. The file can be read while it grows.
A provider alone is a first look, in PROVIDER-TIME.pftrace: sdttrace page --help.`,
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

func (d *timelining) words(set word.Set) {
	set.Add("flow", &d.flows)
	set.Add("counter", &d.counters)
	d.spanning.words(set)
	d.recordings(set)
	d.said(set, nil)
}

func (d *timelining) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	t, err := d.watch(ctx, probes, opts, 0)
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
		o.Names = perfetto.NameOfProcess
	}
	w := perfetto.New(out, o)
	failed := w.Timeline(t, f.limit, to.cancel)
	for _, l := range t.Losses() {
		w.Loss(l.From, l.To, l.N)
	}
	if flows, counters := w.Missing(); !f.quiet {
		for _, path := range flows {
			fmt.Fprintf(to.stderr, "sdttrace: --flow %s drew nothing: no event had this argument\n", path)
		}
		for _, path := range counters {
			fmt.Fprintf(to.stderr, "sdttrace: --counter %s drew nothing: no event had this argument, as a number\n", path)
		}
	}
	return errors.Join(failed, output.Error(w.Flush()))
}

// look chooses a name for the file if none is given, as that of a page.
func (f *timelining) look(ctx context.Context, args []string) ([]string, error) {
	return f.lookInto(ctx, args, ".pftrace")
}

// conclude says where the timeline is.
func (f *timelining) conclude(s session.Session, stderr io.Writer) error {
	f.tell(stderr, "timeline")
	return f.spanning.conclude(s, stderr)
}
