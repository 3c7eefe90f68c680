package attach

import (
	"errors"

	"github.com/go-usdt/usdt/internal/container"
)

// cgroup returns the one control group that is selected; empty for none.
func (t Target) cgroup() string {
	if container.IsGlob(t.Cgroup) {
		return ""
	}
	return t.Cgroup
}

// groups returns what selects control groups by more than the directory of one; nil if nothing
// does.
func (t Target) groups() *container.Selector {
	s := &container.Selector{Container: t.Container, Pod: t.Pod}
	if t.cgroup() == "" {
		s.Glob = t.Cgroup
	}
	if *s == (container.Selector{}) {
		return nil
	}
	return s
}

// checkGroups returns what is wrong with the options that select control groups.
func (t Target) checkGroups() error {
	switch s := t.groups(); {
	case s == nil:
		return nil
	case t.cgroup() != "":
		return &OptionError{"Cgroup", errors.New("the directory of one group excludes Container and Pod; a pattern does not")}
	default:
		for _, one := range []struct {
			option string
			only   container.Selector
		}{{"Cgroup", container.Selector{Glob: s.Glob}}, {"Container", container.Selector{Container: s.Container}}, {"Pod", container.Selector{Pod: s.Pod}}} {
			if err := one.only.Check(); err != nil {
				return &OptionError{one.option, err}
			}
		}
	}
	return nil
}
