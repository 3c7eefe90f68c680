package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/internal/version"
)

// pageFlags are the flags that write what was traced as a page.
type pageFlags struct{ path string }

func (f *pageFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "html", "", "instead of printing events, write a page for browsers to this file: rates, latencies of --span, histograms, stacks, and a table of events")
}

func (f *pageFlags) wanted() bool { return f.path != "" }

// printPage adds up events and pairs until there are enough or no more, and writes the page.
func (f *traceFlags) printPage(t *timeline, cancel context.CancelFunc, stdout io.Writer) (err error) {
	out, err := f.outputs.create(f.page.path, stdout)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	p := page.New(appendValue)
	first := f.addPage(p, t, cancel)
	summary, err := t.summary()
	if err != nil {
		return errors.Join(first, err)
	}
	return errors.Join(first, outputError(p.Write(out, summary)))
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
			f.meanings.event(one.event)
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
