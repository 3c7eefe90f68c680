package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/pagesource"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/shell"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

var pageVerb = verb{
	use:   "page [PROBE...]",
	short: "Write a page for browsers: rates, latencies, histograms, stacks, events",
	about: `page writes a page when sdttrace ends, one file that needs no network: with --span how
long pairs of probes took, by statement, path or what else they have, and the slowest of
them; how often probes fired over time, with --stack a flame graph, histograms of arguments
that measure something, and a table of the events, to sort and filter. "?" in the page lists
its keys. sdttrace serve shows the same live.

A provider alone, such as postgresql, is a first look: page knows which pairs matter, makes
those of other providers of names that end in _start and _done, and writes PROVIDER-TIME.html.
serve, timeline and latency take a provider as well.`,
	examples: `  sdttrace page postgresql                       statements, who waits for which lock
  sdttrace page -o page.html --duration 5s 'myapp:*'
  sdttrace page -o page.html --stack --duration 10s -p 4711 'myapp:*'
  sdttrace page -o page.html --span myapp:request_start,myapp:request_done:id
  sdttrace page -o test.html 'myapp:*' -- ./myapp --selftest
  sdttrace page -o crash.html --from /var/crash/myapp-4711-1795361234567.usdt`,
	does: func(f *traceFlags) deed { return &paging{spanning{traceFlags: f}} },
}

// paging writes what was traced as a page.
type paging struct{ spanning }

func (d *paging) words(set word.Set) {
	d.spanning.words(set)
	d.recordings(set)
	d.said(set, nil)
}

func (d *paging) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	t, err := d.watch(ctx, probes, opts, 0)
	return t, func() error { return d.write(t, to) }, err
}

// write adds up events and pairs until there are enough or no more, and writes the page.
func (f *paging) write(t *session.Timeline, to *showing) error {
	out, err := f.outputs.Create(f.out, to.stdout)
	if err != nil {
		return err
	}
	p := page.New(format.AppendValue)
	first := f.filler(p).Fill(t, to.cancel)
	summary, err := pagesource.Summary(t, shell.Line(os.Args), f.asked())
	if err == nil {
		err = output.Error(p.Write(out, summary))
	}
	return errors.Join(first, output.Whole(out, err))
}

// look chooses a name for the page if none is given, so that nothing but a provider is needed.
func (f *paging) look(ctx context.Context, args []string) ([]string, error) {
	return f.lookInto(ctx, args, ".html")
}

// conclude says where the page is.
func (f *paging) conclude(s session.Session, stderr io.Writer) error {
	f.tell(stderr, "page")
	return f.spanning.conclude(s, stderr)
}
