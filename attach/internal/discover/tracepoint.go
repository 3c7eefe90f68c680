package discover

import (
	"fmt"

	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// loadTracepoints returns the tracepoints of the running kernel. Tests put their own in its place.
var loadTracepoints = tracepoint.Load

// tracepoints keeps the tracepoints of the kernel that selectors name.
func (d *Search) tracepoints() error {
	wanted := false
	for i := range d.selectors {
		wanted = wanted || d.selectors[i].Kind == reader.Tracepoint
	}
	if !wanted {
		return nil
	}
	events, err := loadTracepoints()
	if err != nil {
		return err
	}
	d.events = events
	systems, err := events.Systems()
	if err != nil {
		return err
	}
	for _, system := range systems {
		if err := d.tracepointsOf(system); err != nil || d.interrupted() {
			return err
		}
	}
	return nil
}

// tracepointsOf adds the tracepoints of a system.
func (d *Search) tracepointsOf(system string) error {
	var by []int // selectors
	for i := range d.selectors {
		if d.selectors[i].MatchSystem(system) {
			by = append(by, i)
		}
	}
	if len(by) == 0 {
		return nil
	}
	names, err := d.events.Of(system)
	if err != nil {
		return err
	}
	for _, name := range names {
		hit := false
		for _, i := range by {
			s := &d.selectors[i]
			if !s.MatchKernel(system, name, 0) {
				continue
			}
			if _, literal := s.LiteralSystem(); !literal && tracepoint.Often(system) {
				d.hot[i]++
				continue
			}
			d.matched[i], hit = true, true
		}
		if hit {
			p := d.events.Probe(system, name)
			d.keep(&p, 0)
		}
	}
	return nil
}

// noTracepoint says which tracepoint a selector that names none may have meant.
func (d *Search) noTracepoint(i int) error {
	s := &d.selectors[i]
	err := fmt.Errorf("%w %s in the kernel", ErrNoFunction, s.String())
	if n := d.hot[i]; n > 0 {
		return fmt.Errorf("%w, except %d that fire all the time, or while a program of this tracing runs: name their system exactly", err, n)
	}
	if d.events == nil {
		return err
	}
	nearest, least := "", 0
	_, literal := s.LiteralKernel()
	systems, _ := d.events.Systems() // what cannot be read is not near
	known := false
	for _, system := range systems {
		known = known || s.MatchSystem(system)
		names, _ := d.events.Of(system)
		for _, name := range names {
			if distance, ok := s.NearTracepoint(system, name); ok && (nearest == "" || distance < least) {
				if nearest, least = s.Kind.String()+":"+system+":"+name, distance; !literal {
					nearest = s.Kind.String() + ":" + system + ":" + s.Function
				}
			}
		}
	}
	switch {
	case nearest != "":
		return fmt.Errorf("%w, but %s would", err, selector.Shell(nearest))
	case !known:
		return fmt.Errorf("%w: there is no system %s%s", err, s.Provider, spelling.Nearly(s.Provider, systems))
	}
	return fmt.Errorf("%w: the system has no such event, or its module is not loaded", err)
}
