package kernelsites

import (
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

var tracepoints = source{
	kinds: []reader.ProbeKind{reader.Tracepoint},
	load: func() (sites, error) {
		events, err := tracepoint.Load()
		return eventList{events}, err
	},
}

// eventList has the kernel's tracepoints.
type eventList struct{ *tracepoint.Events }

func (l eventList) find(s *Search) error {
	systems, err := l.Systems()
	if err != nil {
		return err
	}
	for _, system := range systems {
		if err := l.findIn(s, system); err != nil || s.Interrupted() {
			return err
		}
	}
	return nil
}

// findIn keeps tracepoints of a system.
func (l eventList) findIn(s *Search, system string) error {
	var by []int // selectors
	for i := range s.Selectors {
		if sel := &s.Selectors[i]; tracepoints.has(sel.Kind) && sel.MatchSystem(system) {
			by = append(by, i)
		}
	}
	if len(by) == 0 {
		return nil
	}
	names, err := l.Of(system)
	if err != nil {
		return err
	}
	for _, name := range names {
		hit := false
		for _, i := range by {
			sel := &s.Selectors[i]
			if !sel.MatchKernel(system, name, 0) {
				continue
			}
			if _, literal := sel.LiteralSystem(); !literal && tracepoint.Often(system) {
				s.Hot[i]++
				continue
			}
			s.Matched[i], hit = true, true
		}
		if hit {
			p := l.Probe(system, name)
			s.Keep(&p)
		}
	}
	return nil
}

func (l eventList) missing(s *selector.Selector, hot int) string {
	if hot > 0 {
		return fmt.Sprintf(", except %d that fire all the time, or while a program of this tracing runs: name their system exactly", hot)
	}
	nearest, least := "", 0
	_, literal := s.LiteralKernel()
	systems, _ := l.Systems() // what cannot be read is not near
	known := false
	for _, system := range systems {
		known = known || s.MatchSystem(system)
		names, _ := l.Of(system)
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
		return fmt.Sprintf(", but %s would", selector.Shell(nearest))
	case !known:
		return fmt.Sprintf(": there is no system %s%s", s.Provider, spelling.Nearly(s.Provider, systems))
	}
	return ": the system has no such event, or its module is not loaded"
}

// words yields systems, and behind a system its events.
func (l eventList) words(prefix string, yield func(before, name, end string)) {
	system, event, ok := strings.Cut(prefix, ":")
	before, end, names := "", ":", []string(nil)
	if ok {
		before, end, prefix = system+":", "", event
		names, _ = l.Of(system) // a system that cannot be read has nothing to offer
	} else {
		names, _ = l.Systems()
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			yield(before, name, end)
		}
	}
}
