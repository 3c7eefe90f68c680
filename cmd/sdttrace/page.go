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
	"github.com/go-usdt/usdt/internal/version"
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

func (d *paging) open(ctx context.Context, probes []string, opts *attach.Options, to *showing) (session, func() error, error) {
	t, err := d.watch(ctx, probes, opts)
	return t, func() error { return d.write(t, to) }, err
}

// write adds up events and pairs until there are enough or no more, and writes the page.
func (f *paging) write(t *timeline, to *showing) (err error) {
	out, err := f.outputs.Create(f.out, to.stdout)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	p := page.New(format.AppendValue)
	first := f.addPage(p, t, to.cancel)
	summary, err := t.summary()
	if err != nil {
		return errors.Join(first, err)
	}
	return errors.Join(first, output.Error(p.Write(out, summary)))
}

// addPage adds events and pairs until there are enough or no more. Counts are complete then.
func (f *traceFlags) addPage(p *page.Page, t *timeline, cancel context.CancelFunc) error {
	return errors.Join(f.addPageEvents(p, t, cancel), t.Close())
}

// addPageEvents does so, and returns the first error of an event; later events follow.
func (f *traceFlags) addPageEvents(p *page.Page, t *timeline, cancel context.CancelFunc) (first error) {
	n := uint64(0)
	t.each(func(one *delivered, err error) bool {
		first = cmp.Or(first, err)
		if one.event != nil && one.event.Probe != nil {
			f.meanings.Event(one.event)
			p.Add(one.event)
			n++
		}
		for i := range one.pairs {
			pair := &one.pairs[i]
			if pair.Start.Probe == nil || one.end.Probe == nil {
				continue
			}
			if t.pairs != nil { // no other session delivers their events
				p.Add(&pair.Start)
				p.Add(one.end)
			}
			p.AddPair(&pair.Start, one.end, pair.Took)
		}
		if n == f.limit && n > 0 {
			cancel()
			return false
		}
		return true
	})
	return first
}

// summary returns what a page says of the session.
func (t *timeline) summary() (page.Summary, error) {
	st, err := t.Stats()
	if err != nil {
		return page.Summary{}, err
	}
	summary := page.Summary{Command: commandLine(os.Args), Lost: st.Lost, Version: version.String()}
	summary.Losses = pageLosses(t.Losses())
	if t.pairs == nil {
		summary.Filtered = st.Filtered // not what pairs have left out
	}
	return summary, nil
}

func pageLosses(losses []attach.Loss) (all []page.Loss) {
	for _, l := range losses {
		all = append(all, page.LossOf(l.From, l.To, l.N))
	}
	return all
}

// commandLine returns the command as a shell takes it.
func commandLine(args []string) string {
	words := []string{"sdttrace"}
	for _, a := range args[1:] {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}
