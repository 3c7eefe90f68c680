package attach

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/shape"
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

// CheckArgument returns why no site of the session has an argument at a path, as
// [event.View.Argument] takes it; nil if one has, or if the session has no site yet.
func (s *Session) CheckArgument(path string) error {
	var misfit error
	sites := s.sites.Load()
	for i, sc := range sites.schemas {
		if sc == nil {
			continue
		}
		_, _, _, err := sc.Lookup(path)
		if err == nil {
			return nil
		}
		misfit = cmp.Or(misfit, noArgument(sites.probes[i], path, err))
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
		why = errors.New("it has " + strings.Join(none.Has, ", "))
	}
	return fmt.Errorf("%s has no argument %s: %w", site.Name(p), path, why)
}

// decoder returns a decoder for one reader of events.
func (s *stream) decoder() *event.Decoder {
	c := s.clock
	d := event.NewDecoder(s.site, c.Wall)
	if s.code != nil {
		d.NameCode(s.code.Of)
	}
	d.KnowStacks(s.savedStack)
	return d
}

// site returns the shape and the probe of the site with a number.
func (t *tracing) site(number uint32) (*shape.Shape, *reader.Probe) {
	sites := t.sites.Load()
	if uint64(number) >= uint64(len(sites.schemas)) || sites.schemas[number] == nil {
		return nil, nil
	}
	return &sites.schemas[number].Shape, sites.probes[number]
}
