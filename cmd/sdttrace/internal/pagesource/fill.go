// Package pagesource is where pages get their content: it adds what sessions deliver, and reads which
// probes there are.
package pagesource

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/version"
	"github.com/go-usdt/usdt/reader"
)

// Filler adds what sessions deliver to a page.
type Filler struct {
	Page     *page.Page
	Meanings *format.Meanings
	Limit    uint64   // of events; 0 for none
	By       []string // the key of the groups of each span; empty for one that fits
	Stacks   []string // the probes whose stacks are shown, as PROVIDER:NAME; nil for all
}

// Fill adds events and pairs until there are enough or no more. Counts are complete then.
func (f *Filler) Fill(t *session.Timeline, cancel context.CancelFunc) error {
	return errors.Join(f.add(t, cancel), t.Close())
}

// add does so, and returns the first error of an event; later events follow.
func (f *Filler) add(t *session.Timeline, cancel context.CancelFunc) (first error) {
	n := uint64(0)
	t.Each(func(one *session.Delivered, err error) bool {
		first = cmp.Or(first, err)
		if one.Event != nil && one.Event.Probe != nil {
			f.Meanings.Event(one.Event, true)
			if f.Stacks != nil && !slices.Contains(f.Stacks, one.Event.Provider+":"+one.Event.Name) {
				one.Event.Stack = nil
			}
			f.Page.Add(one.Event)
			n++
		}
		for i := range one.Pairs {
			pair := &one.Pairs[i]
			if pair.Start.Probe == nil || one.End.Probe == nil {
				continue
			}
			f.Meanings.Event(&pair.Start, true)
			if t.Matched() { // no other session delivers their events
				f.Meanings.Event(one.End, true)
				f.Page.Add(&pair.Start)
				f.Page.Add(one.End)
			}
			f.Page.AddPair(&pair.Start, f.end(pair.Span, one.End), pair.Took, f.group(pair, one.End), pair.Span)
		}
		if n == f.Limit && n > 0 {
			cancel()
			return false
		}
		return true
	})
	return first
}

// end returns the end of a pair of a span as pages list it: what is in registers says nothing where a first
// look, and not the user, has chosen a function.
func (f *Filler) end(span int, end *event.Event) *event.Event {
	if span >= len(f.By) || f.By[span] == "" || end.Probe.Kind == reader.USDT {
		return end
	}
	listed := *end
	listed.Args = []event.Arg{}
	return &listed
}

// Summary returns what a page says of a session that a command traces, and why there is nothing to show.
func Summary(t *session.Timeline, command string, asked remark.Asked) (page.Summary, error) {
	st, err := t.Stats()
	if err != nil {
		return page.Summary{}, err
	}
	summary := page.Summary{Command: command, Lost: st.Lost + st.Missed, Version: version.String(), Why: remark.Why(t, asked), Notes: remark.Notes(t, asked.Table)}
	summary.Losses = pageLosses(t.Losses())
	if !t.Matched() {
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
