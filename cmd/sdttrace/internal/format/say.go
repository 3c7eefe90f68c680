package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/prototype"
)

// said is what a process said last by an argument that texts of its other events need.
type said struct {
	pid  int
	name string // PROVIDER:NAME:ARG
}

// maxSaid bounds the memory for processes that come and go.
const maxSaid = 1 << 14

// keep keeps the arguments of an event that texts of later ones need.
func (m *Meanings) keep(known *meaning, ev *event.Event) {
	for _, arg := range known.said {
		if a := argOf(ev.Args, arg); a != nil {
			if m.last == nil || len(m.last) >= maxSaid {
				m.last = map[said]string{}
			}
			m.last[said{ev.PID, ev.Provider + ":" + ev.Name + ":" + arg}] = textOf(a)
		}
	}
}

// say returns texts for an event, and the arguments that they do not stand for.
func (m *Meanings) say(known *meaning, ev *event.Event) (texts, rest []event.Arg) {
	named, unset := map[string]bool{}, map[string]bool{}
	for i := range known.says {
		s := &known.says[i]
		own := argOf(ev.Args, s.Name)
		if own != nil && own.Value != nil && needsOf(known.says[i:i+1]) == nil {
			continue // a variable of the program has it
		}
		if is := argOf(ev.Args, s.When); s.When != "" && (is == nil || textOf(is) != s.Is) {
			continue
		}
		whole := true
		text := s.Expand(func(need string) string {
			if strings.Contains(need, ":") {
				last, ok := m.last[said{ev.PID, ev.Provider + ":" + need}]
				whole = whole && ok
				return last
			}
			a := argOf(ev.Args, need)
			if whole = whole && a != nil; !whole {
				return ""
			}
			named[need] = true
			return textOf(a)
		})
		if whole {
			named[s.When] = true
			unset[s.Name] = own != nil && own.Value == nil
			texts = append(texts, event.Arg{Name: s.Name, Value: text})
		}
	}
	if len(texts) == 0 {
		return nil, ev.Args
	}
	return texts, slices.DeleteFunc(slices.Clone(ev.Args), func(a event.Arg) bool {
		return named[a.Name] || unset[a.Name] || len(named) > 0 && known.replaced[a.Name]
	})
}

// replacedBy returns the arguments that texts replace.
func replacedBy(says []prototype.Saying) map[string]bool {
	all := map[string]bool{}
	for i := range says {
		for _, need := range append(says[i].Needs(), says[i].When) {
			all[need] = true
		}
	}
	return all
}

// argOf returns the argument of a name that has a value, nil if there is none.
func argOf(args []event.Arg, name string) *event.Arg {
	i := slices.IndexFunc(args, func(a event.Arg) bool { return a.Name == name && a.Err == nil })
	if i < 0 {
		return nil
	}
	return &args[i]
}

// textOf returns a value without quotes.
func textOf(a *event.Arg) string {
	if s, ok := a.Value.(string); ok {
		return s
	}
	return fmt.Sprint(a.Value)
}
