package plan

import "fmt"

// resolver refuses functions that the dynamic linker calls to learn which function
// to call.
func (pl *Planner) resolver(s *site) {
	if s.probe.Target.Resolver {
		s.Reason = fmt.Errorf("the symbol is of a resolver (IFUNC), which is called once to choose the function: select what it chooses: %w", ErrSilent)
	}
}
