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
	failed := make([]error, len(t.pairs)+1) // the first one of each session
	t.read(
		func(s *attach.Session) { failed[0] = f.addPageEvents(p, s, cancel) },
		func(i int, pairs *attach.Pairs) { failed[i+1] = f.addPagePairs(p, pairs, t.events == nil) },
	)
	return errors.Join(errors.Join(failed...), t.Close())
}

// summary returns what a page says of the sessions.
func (t *timeline) summary() (page.Summary, error) {
	st, err := t.Stats()
	if err != nil {
		return page.Summary{}, err
	}
	summary := page.Summary{Command: commandLine(os.Args), Lost: st.Lost, Version: version.String()}
	if t.events == nil {
		return summary, nil
	}
	st, err = t.events.Stats()
	summary.Filtered = st.Filtered // not what pairs have left out
	return summary, err
}

// addPageEvents adds the events of a session to a page. It returns the first error of an event;
// later events follow.
func (f *traceFlags) addPageEvents(p *page.Page, s *attach.Session, cancel context.CancelFunc) (first error) {
	n := uint64(0)
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(first, err)
		}
		first = cmp.Or(first, err)
		f.meanings.event(&ev)
		p.Add(&ev)
		if n++; n == f.limit {
			cancel()
			break
		}
	}
	return first
}

// addPagePairs adds the pairs of a session to a page and, if no other session delivers events,
// their starts and ends.
func (f *traceFlags) addPagePairs(p *page.Page, s *attach.Pairs, events bool) (first error) {
	for pair, err := range s.All() {
		if err != nil && (pair.Start.Probe == nil || pair.End.Probe == nil) {
			return errors.Join(first, err)
		}
		first = cmp.Or(first, err)
		if events {
			p.Add(&pair.Start)
			p.Add(&pair.End)
		}
		p.AddPair(&pair.Start, &pair.End, pair.Took)
	}
	return first
}

// commandLine returns the command as a shell takes it.
func commandLine(args []string) string {
	words := []string{"sdttrace"}
	for _, a := range args[1:] {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}
