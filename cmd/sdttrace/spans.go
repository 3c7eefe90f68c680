package main

import (
	"errors"
	"io"
	"slices"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// spanning is a deed that shows events, and how long pairs of probes take.
type spanning struct {
	defaults
	*traceFlags
	texts repeated // START,END[:KEY]
}

func (d *spanning) words(set wordSet) {
	set.add("span", &d.texts)
	d.target(set)
	d.single(set)
	d.arguments(set)
}

func (d *spanning) check([]string) error {
	if len(d.texts) > 0 && d.sample > 1 {
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

// probesOf returns the probes of events, and those of spans.
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

func (d *spanning) conclude(s session.Session, stderr io.Writer) error {
	return remark.Spans(stderr, s.(*session.Timeline))
}
