package format

import (
	"slices"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// maxIdle is how many groups are remembered that have no events any more.
const maxIdle = 1000

// IdleGroups remember the groups of earlier intervals, so that those without events are
// shown with zero.
type IdleGroups struct {
	known    map[string]idleGroup
	interval int
}

type idleGroup struct {
	by   []event.Arg
	last int // the last interval in which there were events
}

// Fill adds to the groups of an interval the groups that had events earlier. If
// groups have no keys, there is one group, which is always shown.
func (i *IdleGroups) Fill(groups []total.Group, byKeys bool) []total.Group {
	if !byKeys {
		if len(groups) == 0 {
			groups = append(groups, total.Group{})
		}
		return groups
	}
	if i.known == nil {
		i.known = map[string]idleGroup{}
	}
	i.interval++
	for j := range groups {
		if groups[j].Other {
			continue // it has no values
		}
		i.known[KeyOf(&groups[j])] = idleGroup{slices.Clone(groups[j].By), i.interval}
	}
	idle := make([]idleGroup, 0, len(i.known))
	for _, g := range i.known {
		if g.last < i.interval {
			idle = append(idle, g)
		}
	}
	busy := len(groups)
	for _, g := range idle {
		groups = append(groups, total.Group{By: slices.Clone(g.by)})
	}
	slices.SortFunc(groups[busy:], func(a, b total.Group) int { return a.CompareKeys(&b) })
	i.forget(idle)
	return groups
}

// KeyOf returns text that differs for groups of different keys.
func KeyOf(g *total.Group) string {
	by := event.Struct(g.By)
	key := by.AppendErrors(by.AppendJSON(nil))
	if g.Other {
		key = append(key, "other"...)
	}
	return string(key)
}

// forget leaves out the groups that have been idle for longest if there are too many.
func (i *IdleGroups) forget(idle []idleGroup) {
	if len(idle) <= maxIdle {
		return
	}
	slices.SortFunc(idle, func(a, b idleGroup) int { return b.last - a.last })
	oldest := idle[maxIdle].last
	for key, g := range i.known {
		if g.last <= oldest {
			delete(i.known, key)
		}
	}
}
