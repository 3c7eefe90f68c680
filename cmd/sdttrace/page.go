package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/output"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/pagesource"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

var pageVerb = verb{
	use:   "page [PROBE...]",
	short: "Write a page for browsers: rates, latencies, histograms, stacks, events",
	about: `page writes a page when sdttrace ends, one file that needs no network: how often probes
fired over time, histograms of arguments that are numbers, with --span how long pairs of
probes took and the slowest of them, with --stack a flame graph, and a table of the events,
to sort and filter. "?" in the page lists its keys. sdttrace serve shows the same live.`,
	examples: `  sdttrace page -o page.html --duration 5s 'myapp:*'
  sdttrace page -o page.html --stack --duration 10s -p 4711 'myapp:*'
  sdttrace page -o page.html --span myapp:request_start,myapp:request_done:id
  sdttrace page -o test.html 'myapp:*' -- ./myapp --selftest
  sdttrace page -o crash.html --from /var/crash/myapp-4711-1795361234567.usdt`,
	does: func(f *traceFlags) deed { return &paging{spanning{traceFlags: f}} },
}

// paging writes what was traced as a page.
type paging struct{ spanning }

func (d *paging) words(set wordSet) {
	d.spanning.words(set)
	d.recordings(set)
	d.said(set, nil)
}

func (d *paging) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session.Session, func() error, error) {
	t, err := session.Watch(ctx, probes, d.texts, opts)
	return t, func() error { return d.write(t, to) }, err
}

// write adds up events and pairs until there are enough or no more, and writes the page.
func (f *paging) write(t *session.Timeline, to *showing) (err error) {
	out, err := f.outputs.Create(f.out, to.stdout)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	p := page.New(format.AppendValue)
	fill := &pagesource.Filler{Page: p, Meanings: &f.meanings, Limit: f.limit}
	first := fill.Fill(t, to.cancel)
	summary, err := pagesource.Summary(t, commandLine(os.Args))
	if err != nil {
		return errors.Join(first, err)
	}
	return errors.Join(first, output.Error(p.Write(out, summary)))
}

// commandLine returns the command as a shell takes it.
func commandLine(args []string) string {
	words := []string{"sdttrace"}
	for _, a := range args[1:] {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}
