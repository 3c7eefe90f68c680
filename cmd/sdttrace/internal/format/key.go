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
		own := needsOf(named(m.Table.Sayings(parts[len(parts)-2], parts[len(parts)-1]), name))
		if own == nil || needs != nil && !slices.Equal(needs, own) {
			return nil
		}
		needs = own
	}
	return needs
}

// named returns the sayings that make one text, each for some values of an argument.
func named(says []prototype.Saying, name string) (all []prototype.Saying) {
	for _, s := range says {
		if s.Name == name {
			all = append(all, s)
		}
	}
	return all
}

// needsOf returns the arguments that sayings need, and by which they are chosen; nil if one needs
// the arguments of other events.
func needsOf(says []prototype.Saying) (all []string) {
	for i := range says {
		for _, need := range append([]string{says[i].When}, says[i].Needs()...) {
			if strings.Contains(need, ":") {
				return nil
			}
			if need != "" && !slices.Contains(all, need) {
				all = append(all, need)
			}
		}
	}
	return all
}

// join replaces keys by the text that is made of them.
func (m *Meanings) join(groups []total.Group, plan attach.Plan) {
	for i := range plan {
		p := &plan[i].Probe
		all := m.Table.Sayings(p.Provider, p.Name)
		for _, s := range all {
			says := named(all, s.Name)
			needs := needsOf(says)
			has := func(need string) bool {
				return slices.ContainsFunc(groups[0].By, func(a event.Arg) bool { return a.Name == need })
			}
			if len(needs) < 2 || slices.ContainsFunc(needs, func(need string) bool { return !has(need) }) {
				continue
			}
			for j := range groups {
				by := &groups[j].By
				text := event.Arg{Name: s.Name, Value: textFor(says, needs, *by)}
				first := slices.IndexFunc(*by, func(a event.Arg) bool { return slices.Contains(needs, a.Name) })
				rest := slices.DeleteFunc(slices.Clone(*by), func(a event.Arg) bool { return slices.Contains(needs, a.Name) })
				*by = slices.Insert(rest, first, text)
			}
			return
		}
	}
}

// textFor returns the text of the saying that fits a group, or what it would be made of.
func textFor(says []prototype.Saying, needs []string, by []event.Arg) string {
	for i := range says {
		if s := &says[i]; s.When == "" || keyOf(by, s.When) == s.Is {
			return s.Expand(func(need string) string { return keyOf(by, need) })
		}
	}
	var b strings.Builder
	for _, need := range needs {
		b.WriteString(" " + need + "=" + keyOf(by, need))
	}
	return b.String()[1:]
}

// keyOf returns the text of a key.
func keyOf(by []event.Arg, name string) string {
	if a := argOf(by, name); a != nil {
		return textOf(a)
	}
	return "?"
}
