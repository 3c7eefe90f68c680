// Package profiles makes profiles of what sessions deliver: of single events, of allocations, and of
// groups by stack.
package profiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/recording"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/profile"
)

// Collector adds up what a session delivers.
type Collector struct {
	Weight   string        // the argument that is added up; empty to count
	Heap     bool          // the events are allocations and frees
	Pairs    bool          // the groups are of pairs
	Replayed bool          // the events come from recordings
	Limit    uint64        // of events; 0 for none
	Interval time.Duration // between reads of groups; 0 for one read
	Meanings *format.Meanings
	Stderr   io.Writer
}

// Events adds up events until there are enough or no more.
func (c *Collector) Events(s *attach.Session, part recording.Part) (*profile.Profile, error) {
	if c.Heap {
		return c.ofAllocations(s, part)
	}
	p := profile.New(c.Weight)
	first := c.addEvents(s, p, part, p.Add)
	if c.Weight != "" {
		c.setUnit(p, s.Plan())
	}
	if p.Left > 0 {
		fmt.Fprintf(c.Stderr, "sdttrace: %s not in the profile\n", printable.Many(p.Left, "event has no number "+c.Weight+", and is", "events have no number "+c.Weight+", and are"))
	}
	if p.Unlike > 0 {
		fmt.Fprintf(c.Stderr, "sdttrace: the profile is large: %s in it without the text of their arguments\n", printable.Many(p.Unlike, "event is", "events are"))
	}
	return p, first
}

// addEvents adds events to a profile until there are enough or no more. The error is the first of an event,
// which others follow, and that of the session.
func (c *Collector) addEvents(s *attach.Session, p *profile.Profile, part recording.Part, add func(*event.Event)) (first error) {
	n := uint64(0)
	var begun, last time.Time
	for ev, err := range s.Events() {
		if err != nil && ev.Probe == nil {
			return errors.Join(first, err)
		}
		first = cmp.Or(first, err)
		if begun.IsZero() {
			begun = ev.Time
		}
		if last = ev.Time; !part.Has(last.Sub(begun)) {
			continue
		}
		if add(&ev); c.Replayed {
			p.Cover(ev.Time)
		}
		if n++; n == c.Limit {
			break
		}
	}
	if n == 0 && !begun.IsZero() {
		fmt.Fprintf(c.Stderr, "sdttrace: no event fired from %v to %v of a recording: its last one fired %v after the first\n", part.From, part.To, last.Sub(begun))
	}
	return first
}

// ofAllocations adds up allocations until there are enough or no more.
func (c *Collector) ofAllocations(s *attach.Session, part recording.Part) (*profile.Profile, error) {
	p, _ := profile.NewHeap(c.Weight)
	first := c.addEvents(s, p.Profile, part, p.Add)
	for _, left := range []struct {
		n         uint64
		one, more string
	}{
		{p.Unknown, "free of what was allocated before, or was not seen", "frees of what was allocated before, or was not seen"},
		{p.Untracked, "allocation could not be followed until it is freed, since there are too many: the profile does not have it in use", "allocations could not be followed until they are freed, since there are too many: the profile does not have them in use"},
		{p.Left, "event is neither an allocation nor a free, and not in the profile", "events are neither allocations nor frees, and not in the profile"},
	} {
		if left.n > 0 {
			fmt.Fprintf(c.Stderr, "sdttrace: %s\n", printable.Many(left.n, left.one, left.more))
		}
	}
	return p.Profile, first
}

// Groups reads groups by stack, each interval and at the end.
func (c *Collector) Groups(ctx context.Context, a session.Aggregate) (*profile.Profile, error) {
	values := []profile.Value{{Type: "events", Unit: "count"}}
	switch {
	case c.Pairs:
		values = append(values, profile.Value{Type: "latency", Unit: "nanoseconds"})
	case c.Weight != "":
		values = append(values, profile.Value{Type: c.Weight, Unit: "count"})
	}
	p := profile.Of(values...)
	add := func() error {
		groups, err := a.Read()
		if err != nil {
			return err
		}
		c.Meanings.Groups(groups, a.Plan())
		for i := range groups {
			g := &groups[i]
			if p.AddGroup(g); c.Replayed {
				p.Cover(g.From)
				p.Cover(g.At)
			}
		}
		return nil
	}
	var tick <-chan time.Time
	if c.Interval > 0 {
		t := time.NewTicker(c.Interval)
		defer t.Stop()
		tick = t.C
	}
	for ended := false; !ended; {
		select {
		case <-tick:
		case <-a.Done():
			ended = true
		case <-ctx.Done():
			ended = true
		}
		if ended {
			if err := a.Stop(); err != nil {
				return nil, err
			}
		}
		if err := add(); err != nil {
			return nil, err
		}
	}
	if c.Weight != "" {
		c.setUnit(p, a.Plan())
	}
	return p, nil
}

// setUnit says what a profile counts if the argument that it adds up is known.
func (c *Collector) setUnit(p *profile.Profile, plan attach.Plan) {
	if param := c.Meanings.Param(c.Weight, plan); param != nil {
		p.SetUnit(param.Unit)
	}
}
