package plan

import "fmt"

// resolver refuses ifunc resolvers: functions that the dynamic linker calls to
// learn which function to use.
func (pl *Planner) resolver(s *site) {
	if s.probe.Target.Resolver {
		s.Reason = fmt.Errorf("the symbol names a resolver (IFUNC), which is called once to choose the function: select the chosen function: %w", ErrSilent)
	}
}
