package format

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/total"
)

// Keys returns keys of groups with the arguments that a text is made of in its place, if probes
// that selectors name have that text. A key that is both, as a method is, stands for the text. The groups then have it again by [Meanings.Groups].
func (m *Meanings) Keys(by, selectors []string) (keys []string) {
	for _, key := range by {
		needs := m.needs(key, selectors)
		if needs == nil {
			needs = []string{key}
		}
		for _, need := range needs {
			if !slices.Contains(keys, need) {
				keys = append(keys, need)
			}
		}
	}
	return keys
}

// needs returns the arguments that a text is made of at all probes of selectors, nil if it
// is made of others, or if a selector's probes have no such text.
func (m *Meanings) needs(name string, selectors []string) (needs []string) {
	for _, s := range selectors {
		parts := strings.Split(s, ":")
		if len(parts) < 2 {
			return nil
		}
		says := m.Table.Sayings(parts[len(parts)-2], parts[len(parts)-1])
		i := slices.IndexFunc(says, func(s prototype.Saying) bool { return s.Name == name && plain(&s) })
		if i < 0 || needs != nil && !slices.Equal(needs, says[i].Needs()) {
			return nil
		}
		needs = says[i].Needs()
	}
	return needs
}

// plain reports whether a text is made of the arguments of one event, whatever they are.
func plain(s *prototype.Saying) bool {
	return s.When == "" && !slices.ContainsFunc(s.Needs(), func(need string) bool { return strings.Contains(need, ":") })
}

// join replaces keys by the text that is made of them.
func (m *Meanings) join(groups []total.Group, plan attach.Plan) {
	for i := range plan {
		p := &plan[i].Probe
		for _, s := range m.Table.Sayings(p.Provider, p.Name) {
			needs := s.Needs()
			has := func(need string) bool {
				return slices.ContainsFunc(groups[0].By, func(a event.Arg) bool { return a.Name == need })
			}
			if !plain(&s) || len(needs) < 2 || slices.ContainsFunc(needs, func(need string) bool { return !has(need) }) {
				continue
			}
			for j := range groups {
				by := &groups[j].By
				text := event.Arg{Name: s.Name, Value: s.Expand(func(need string) string { return keyOf(*by, need) })}
				first := slices.IndexFunc(*by, func(a event.Arg) bool { return slices.Contains(needs, a.Name) })
				rest := slices.DeleteFunc(slices.Clone(*by), func(a event.Arg) bool { return slices.Contains(needs, a.Name) })
				*by = slices.Insert(rest, first, text)
			}
			return
		}
	}
}

// keyOf returns the text of a key.
func keyOf(by []event.Arg, name string) string {
	if a := argOf(by, name); a != nil {
		return textOf(a)
	}
	return "?"
}
