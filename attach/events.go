package attach

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Events yields the events as they arrive, in the order in which each CPU fired
// them. It ends after Stop, after Close, when the context of Open is done and when
// all of [Target.PIDs] have ended. An error beside an event does not end it; an
// error without an event does. After a break, a later call yields the remaining
// events.
//
// An event that the kernel records is yielded at once if none has come in the half
// millisecond before it, nor frequent ones in the ten before it; otherwise after about a
// millisecond at most. A reader of frequent events looks now and then, since waking it up
// costs the program that fires. Through shared memory an event takes up to ten
// milliseconds.
func (s *Session) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		d := s.decoder()
		s.records(func(rec []byte, _ bool, err error) bool {
			var ev event.Event
			if err == nil {
				ev, err = d.Decode(rec)
			}
			return yield(ev, err) && (err == nil || ev.Probe != nil)
		})
	}
}

// Views yields what Events yields, without allocating memory: all views are the
// same one, and what their methods return as bytes is overwritten by the next
// event. Beside an error a view has no arguments. A caller that keeps text or
// bytes copies them, or the whole event by [event.View.Event].
func (s *Session) Views() iter.Seq2[*event.View, error] {
	return func(yield func(*event.View, error) bool) {
		d := s.decoder()
		s.records(func(rec []byte, _ bool, err error) bool {
			var v *event.View
			if err == nil {
				v, err = d.View(rec)
			}
			return yield(v, err) && v != nil
		})
	}
}

// Decode returns the event in a record of [EventOptions.Ring], which is read once. It counts as
// received, and as unread if nobody has decoded it before Close. If Decode returns an error and an
// event with a Probe, the event lacks only arguments. Decode neither keeps nor changes rec.
func (s *Session) Decode(rec []byte) (event.Event, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	switch {
	case !s.elsewhere:
		return event.Event{}, errors.New("the session has no EventOptions.Ring: use Events")
	case s.shut:
		return event.Event{}, fmt.Errorf("the session is %w", ErrClosed)
	case s.ring == nil:
		s.ring = s.decoder()
	}
	ev, err := s.ring.Decode(s.options.Omit.fields().Expand(slices.Clip(rec)))
	if ev.Probe != nil {
		s.received.Add(1)
	}
	return ev, err
}

// CheckArgument returns why no site of the session has an argument at a path, as
// [event.View.Argument] takes it; nil if one has, or if the session has no site yet.
func (s *stream) CheckArgument(path string) error {
	var misfit error
	sites := s.sites.Load()
	for i, sc := range sites.Schemas {
		if sc == nil {
			continue
		}
		_, _, _, err := sc.WithFields().Lookup(path)
		if err == nil {
			return nil
		}
		misfit = cmp.Or(misfit, noArgument(sites.Probes[i], path, err))
	}
	return misfit
}

// noArgument says why a probe has no argument at a path.
func noArgument(p *reader.Probe, path string, why error) error {
	var none *shape.NoArgument
	switch {
	case !errors.As(why, &none):
	case len(none.Has) == 0:
		why = errors.New("it has none")
	default:
		why = errors.New("it has " + strings.Join(none.Has, ", ") + spelling.Nearly(none.Name, none.Has))
	}
	return fmt.Errorf("%s has no argument %s: %w", site.Name(p), path, why)
}

// decoder returns a decoder for one reader of events.
func (s *stream) decoder() decode.Decoder {
	c := s.clock
	d := decode.NewDecoder(s.site, c.Wall)
	if s.code != nil {
		d.NameCode(s.code.Of)
	}
	d.KnowStacks(s.savedStack)
	if s.options.Groups {
		d.KnowGroups(s.groupWords)
	}
	return d
}

// site returns the shape and the probe of the site with a number.
func (t *tracing) site(number uint32) (*shape.Shape, *reader.Probe) {
	sites := t.sites.Load()
	if uint64(number) >= uint64(len(sites.Schemas)) || sites.Schemas[number] == nil {
		return nil, nil
	}
	return &sites.Schemas[number].WithFields().Shape, sites.Probes[number]
}
