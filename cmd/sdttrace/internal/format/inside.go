package format

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/internal/typed"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// inside is what is known of the interfaces of a probe, and of what they hold.
type inside struct {
	variables map[string]*reader.Variable
	words     map[string]uint64 // of the interfaces of the event, 0 for one that is not shown
}

// insideOf returns nil for a probe without interfaces.
func insideOf(p *reader.Probe) *inside {
	all := typed.Interfaces(p)
	if all == nil {
		return nil
	}
	return &inside{variables: all, words: map[string]uint64{}}
}

// errNoText is why an error has no text.
var errNoText = errors.New("not known of this type")

// event leaves out what the types in an event's interfaces do not have. Unless people read it, it gives the
// interfaces the names of their types: nobody else could know them.
func (in *inside) event(ev *event.Event, known *prototype.Prototype, readable bool) {
	if in == nil {
		return
	}
	clear(in.words)
	shown := make([]event.Arg, 0, len(ev.Args))
	for _, a := range ev.Args {
		v := in.variables[a.Name]
		if v == nil {
			shown = append(shown, a)
			continue
		}
		keep := v.Held == nil || in.keep(v, &a, known)
		if word, ok := a.Value.(uint64); ok && v.Interface && a.Err == nil {
			in.words[a.Name] = word
			if !readable {
				if a.Value = nil; word != 0 {
					a.Value = typeName(known, a.Name, word)
				}
			}
		}
		if keep {
			shown = append(shown, a)
		}
	}
	ev.Args = shown
}

// keep reports whether an argument is shown that is in what an interface holds. It is if the interface itself
// is not: then nobody knows.
func (in *inside) keep(v *reader.Variable, a *event.Arg, known *prototype.Prototype) bool {
	word, ok := in.words[v.Held.Interface]
	if v.Held.Part == held.Whole {
		switch {
		case !errors.Is(a.Err, event.ErrFault):
		case !ok:
			a.Err = fmt.Errorf("%s may hold another type", v.Held.Interface)
		case !v.Held.Types.Has(word, held.Whole):
			a.Err = fmt.Errorf("%s holds %s", v.Held.Interface, cmp.Or(typeName(known, v.Held.Interface, word), "nil"))
		}
		return true
	}
	if !ok {
		return true
	}
	switch types := v.Held.Types; {
	case word == 0:
		return false
	case types.Has(word, v.Held.Part):
		return true
	case v.Held.Part == held.Text && !types.Has(word, held.Number) && !types.Has(word, held.Cause):
		a.Value, a.Err = nil, errNoText
		return true
	}
	return false
}

// typeName returns the name of the type whose word an interface has, "" for none.
func typeName(known *prototype.Prototype, of string, word uint64) string {
	if word == 0 {
		return ""
	}
	if param := paramOf(known, of); param != nil && param.Enum != nil {
		if name := param.Enum.NameOf(int64(word)); name != "" {
			return name
		}
	}
	return fmt.Sprintf("%#x", word)
}
