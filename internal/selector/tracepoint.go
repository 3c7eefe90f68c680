package selector

import "fmt"

// parseTracepoint parses SYSTEM:EVENT.
func (s *Selector) parseTracepoint(rest string) error {
	colon := lastColon(rest)
	switch {
	case colon < 0:
		return fmt.Errorf(`want %s:SYSTEM:EVENT, with '*' for any; for a probe of a provider that is called %[1]s, write \%[1]s:NAME`, s.Kind)
	case colon == 0:
		return fmt.Errorf("the system is empty: want %s:SYSTEM:EVENT, with '*' for any", s.Kind)
	case colon+1 == len(rest):
		return fmt.Errorf("the event is empty: want %s:SYSTEM:EVENT, with '*' for any", s.Kind)
	case lastColon(rest[:colon]) >= 0:
		return fmt.Errorf("it has too many parts: want %s:SYSTEM:EVENT, with '*' for any", s.Kind)
	}
	s.Provider, s.Function = rest[:colon], rest[colon+1:]
	return nil
}

// MatchSystem reports whether s may select tracepoints of a system.
func (s *Selector) MatchSystem(system string) bool {
	return s.Kind.HasFields() && s.provider.match(system)
}

// LiteralSystem returns the only system whose tracepoints s names, if that has no wildcards.
func (s *Selector) LiteralSystem() (system string, ok bool) {
	return s.provider.literal, s.Kind.HasFields() && s.provider.tokens == nil
}

// NearTracepoint returns the distance of s from naming the tracepoint; see Near.
func (s *Selector) NearTracepoint(system, event string) (distance int, ok bool) {
	bySystem, nearSystem := s.provider.near(system)
	byEvent, nearEvent := s.function.near(event)
	sameEvent := s.function.tokens == nil && s.function.literal == event && len(event) >= tellingName
	switch {
	case !s.Kind.HasFields() || !nearEvent || !nearSystem && !sameEvent:
		return 0, false
	case !nearSystem:
		bySystem = farProvider
	}
	return bySystem + byEvent, true
}
