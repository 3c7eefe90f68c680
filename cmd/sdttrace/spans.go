package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/look"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/pagesource"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/word"
)

// spanning is a deed that shows events, and how long pairs of probes take.
type spanning struct {
	defaults
	*traceFlags
	texts  word.Repeated // START,END[:KEY]
	by     []string      // of the last ones of texts: the key of the groups of their pairs
	looked bool          // at a provider
	stacks []string      // the probes whose stacks are shown; nil for all
}

func (d *spanning) words(set word.Set) {
	set.Add("span", &d.texts)
	d.target(set)
	d.single(set)
	d.arguments(set)
}

func (d *spanning) check([]string) error {
	if len(d.texts) > 0 && d.events.Sample > 1 {
		return errors.New("--sample is for single events: it would tear the pairs of --span apart")
	}
	for _, text := range d.texts {
		if _, err := session.ParseSpan(text); err != nil {
			return err
		}
	}
	return nil
}

func (d *spanning) traces(events []string) []string { return probesOf(d.texts, events) }

// probesOf returns the probes of events, and of spans.
func probesOf(spans, events []string) []string {
	all := slices.Clone(events)
	for _, text := range spans {
		if s, err := session.ParseSpan(text); err == nil {
			all = append(all, s.Start, s.End)
		}
	}
	return all
}

func (d *spanning) writes() bool { return true }

// spansBuffer is the size of the buffer of what shows single events: they come in bursts, and a
// lost one tears the pairs about it apart.
const spansBuffer = 32 << 20

// watch attaches to the probes of events and of spans, and keeps so many bytes of events.
func (d *spanning) watch(ctx context.Context, probes []string, opts *attach.Options, keep int) (*session.Timeline, error) {
	if d.events.RingSize == 0 && !opts.Unwind && opts.Target.Via != attach.ViaLocal && d.replayed == nil {
		d.events.RingSize = spansBuffer
	}
	return session.Watch(ctx, probes, d.texts, &d.events, opts, keep)
}

// filler returns what adds to a page. Spans that users name have no key, and come first.
func (d *spanning) filler(p *page.Page) *pagesource.Filler {
	p.Registers = d.given("args")
	keys := append(make([]string, len(d.texts)-len(d.by)), d.by...)
	return &pagesource.Filler{Page: p, Meanings: &d.meanings, Limit: d.limit, By: keys, Stacks: d.stacks}
}

// lookInto chooses the name of a file for the first look at a provider if none is given.
func (d *spanning) lookInto(ctx context.Context, args []string, suffix string) ([]string, error) {
	probes, err := d.look(ctx, args)
	if d.looked && !d.given("output") {
		d.out = args[slices.IndexFunc(args, look.IsProvider)] + time.Now().Format("-20060102-150405") + suffix
	}
	return probes, err
}

// tell says in which file the first look at a provider is.
func (d *spanning) tell(stderr io.Writer, what string) {
	if d.looked && d.out != "-" {
		fmt.Fprintf(stderr, "sdttrace: the %s is in %s\n", what, d.out)
	}
}
