package selector

import "fmt"

// parseTracepoint parses SYSTEM:EVENT.
func (s *Selector) parseTracepoint(rest string) error {
	colon := lastColon(rest)
	switch {
	case colon < 0:
		return fmt.Errorf(`want tracepoint:SYSTEM:EVENT, with '*' for any; for a probe of a provider that is called tracepoint, write \tracepoint:NAME`)
	case colon == 0:
		return fmt.Errorf("the system is empty: want tracepoint:SYSTEM:EVENT, with '*' for any")
	case colon+1 == len(rest):
		return fmt.Errorf("the event is empty: want tracepoint:SYSTEM:EVENT, with '*' for any")
	case lastColon(rest[:colon]) >= 0:
		return fmt.Errorf("it has too many parts: want tracepoint:SYSTEM:EVENT, with '*' for any")
	}
	s.Provider, s.Function = rest[:colon], rest[colon+1:]
	return nil
}

// MatchSystem reports whether s may select tracepoints of a system.
func (s *Selector) MatchSystem(system string) bool {
	return s.Kind == Tracepoint && s.provider.match(system)
}

// LiteralSystem returns the only system whose tracepoints s names, if that has no wildcards.
func (s *Selector) LiteralSystem() (system string, ok bool) {
	return s.provider.literal, s.Kind == Tracepoint && s.provider.tokens == nil
}

// NearTracepoint returns the distance of s from naming the tracepoint; see Near.
func (s *Selector) NearTracepoint(system, event string) (distance int, ok bool) {
	bySystem, nearSystem := s.provider.near(system)
	byEvent, nearEvent := s.function.near(event)
	sameEvent := s.function.tokens == nil && s.function.literal == event && len(event) >= tellingName
	switch {
	case s.Kind != Tracepoint || !nearEvent || !nearSystem && !sameEvent:
		return 0, false
	case !nearSystem:
		bySystem = farProvider
	}
	return bySystem + byEvent, true
}
