package format

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/kernfunc"
	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/internal/typed"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// Meanings write the numbers of known probes for people to read: names of enumerations,
// addresses, units. JSON has the numbers.
type Meanings struct {
	Table *prototype.Table
	Given *prototype.Table // of --providers
	Texts *Texts           // nil unless they are looked for
	of    map[*reader.Probe]*meaning
	last  map[said]string
}

// meaning is what is known of a probe's arguments.
type meaning struct {
	*prototype.Prototype
	says     []prototype.Saying
	replaced map[string]bool // by says
	inside   *inside
	said     []string // arguments that texts of other probes need
}

// maxMeanings bounds the memory for sites that come and go.
const maxMeanings = 1 << 14

// prototype returns what is known of a probe's arguments beside what its object says, nil
// if nothing is.
func (m *Meanings) prototype(p *reader.Probe) *prototype.Prototype {
	if known := kernfunc.Known(p); known != nil {
		return known
	}
	known := typed.Known(p)
	if p == nil || p.Type != nil || p.Kind != reader.USDT || len(m.Table.Of(p.Provider, p.Name)) == 0 {
		return known
	}
	of := m.Table.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
	if of == nil || known == nil {
		return cmp.Or(of, known)
	}
	both := *of
	both.Params = slices.Concat(of.Params, known.Params)
	return &both
}

// shown is a number as text.
type shown struct {
	text   string
	number any // the uint64 or int64
}

func (s shown) String() string { return s.text }

// Number returns the number, for which conditions may name the text.
func (s shown) Number() any { return s.number }

// Forget makes it find out anew what is known of each probe.
func (m *Meanings) Forget() { m.of = nil }

// Event replaces the numbers of an event by what they mean, for people. Other readers have all
// arguments as they are, and the texts behind them that no argument has the name of.
func (m *Meanings) Event(ev *event.Event, readable bool) {
	m.Texts.event(ev)
	if m.Table == nil || ev.Probe == nil {
		return
	}
	known, ok := m.of[ev.Probe]
	if !ok {
		if m.of == nil || len(m.of) >= maxMeanings {
			m.of = map[*reader.Probe]*meaning{}
		}
		if p := m.prototype(ev.Probe); p != nil {
			known = &meaning{Prototype: p, says: m.Table.Sayings(p.Provider, p.Name), said: m.Table.Said(p.Provider, p.Name)}
			known.replaced, known.inside = replacedBy(known.says), insideOf(ev.Probe)
		}
		m.of[ev.Probe] = known
	}
	if known == nil {
		return
	}
	m.keep(known, ev)
	known.inside.event(ev, known.Prototype, readable)
	if !readable && len(known.says) == 0 {
		return
	}
	args := ev.Args
	if !readable {
		ev.Args = slices.Clone(args)
	}
	for i := range ev.Args {
		if a := &ev.Args[i]; a.Err == nil {
			a.Value = meaningOf(paramOf(known.Prototype, a.Name), a.Value)
		}
	}
	texts, rest := m.say(known, ev)
	if readable {
		ev.Args = append(texts, rest...)
		return
	}
	ev.Args = append(args[:len(args):len(args)], slices.DeleteFunc(texts, func(text event.Arg) bool {
		return slices.ContainsFunc(args, func(a event.Arg) bool { return a.Name == text.Name })
	})...)
}

// Groups replaces the numbers in groups' keys by what they mean at the probes of a plan.
func (m *Meanings) Groups(groups []total.Group, plan attach.Plan) {
	m.Texts.groups(groups, plan)
	if m.Table == nil || len(groups) == 0 {
		return
	}
	for i := range groups[0].By {
		param := m.Param(groups[0].By[i].Name, plan)
		for j := range groups {
			if a := &groups[j].By[i]; a.Err == nil {
				a.Value = meaningOf(param, a.Value)
			}
		}
	}
	m.join(groups, plan)
}

// Param returns the argument of a name at the first probe of a plan that has it, nil if
// none has.
func (m *Meanings) Param(name string, plan attach.Plan) *prototype.Param {
	if m.Table == nil {
		return nil
	}
	for i := range plan {
		if known := m.prototype(&plan[i].Probe); known != nil {
			if param := paramOf(known, name); param != nil {
				return param
			}
		}
	}
	return nil
}

// paramOf returns the argument of a name, nil if there is none.
func paramOf(p *prototype.Prototype, name string) *prototype.Param {
	i := slices.IndexFunc(p.Params, func(a prototype.Param) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Params[i]
}

// Announce says on stderr which probes have lines in files of --providers that do not fit
// their arguments.
func (m *Meanings) Announce(stderr io.Writer, plan attach.Plan) {
	told, named := map[string]bool{}, len(m.Given.Prototypes()) == 0
	for i := range plan {
		p := &plan[i].Probe
		form := p.Provider + ":" + p.Name + " " + p.Args
		lines := m.Given.Of(p.Provider, p.Name)
		named = named || len(lines) > 0
		if len(lines) == 0 || told[form] || p.Type != nil || m.Given.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class)) != nil {
			continue
		}
		told[form] = true
		fmt.Fprintf(stderr, "sdttrace: %s:%d: %v does not fit the arguments of the probe in %s, %s: %s\n", lines[0].File, lines[0].Line, &lines[0], p.Path, p.Args, lines[0].Misfit(p.Arguments(), notes.Class(p.Class)))
	}
	if !named {
		fmt.Fprintln(stderr, "sdttrace: --providers: none of the probes that are traced until now has a line there")
	}
}

// suffixes are the units that follow numbers.
var suffixes = map[string]string{"us": "us", "ms": "ms", "s": "s", "bytes": "B", "kB": "kB", prototype.ID: ""}

// nameOf returns a name as its source has it.
func nameOf(language, name string) string {
	switch language {
	case "cxx":
		return mangled.Type(name)
	case "java":
		return javaName(name)
	}
	return name
}

// meaningOf returns what a value of an argument is shown as.
func meaningOf(param *prototype.Param, value any) any {
	if param == nil {
		return value
	}
	var signed int64
	var text string
	switch v := value.(type) {
	case uint64:
		signed, text = int64(v), strconv.FormatUint(v, 10)
		if param.Kind == prototype.Pointer {
			return shown{fmt.Sprintf("%#x", v), value}
		}
		if param.Kind == prototype.Enumeration && v <= 1<<32-1 {
			signed = int64(int32(v)) // without a sign, compilers pass what has one
			if name := param.Enum.NameOf(int64(v)); name != "" {
				return shown{name, value}
			}
		}
		if param.Kind == prototype.Enumeration && param.Enum.NameOf(0) == "nil" && param.Enum.NameOf(signed) == "" {
			return shown{fmt.Sprintf("%#x", v), value} // an interface
		}
	case int64:
		signed, text = v, strconv.FormatInt(v, 10)
	case string:
		return nameOf(param.Unit, v)
	default:
		return value
	}
	if param.Kind == prototype.Enumeration {
		if name := param.Enum.NameOf(signed); name != "" {
			return shown{name, value}
		}
	}
	if suffix, ok := suffixes[param.Unit]; ok {
		return shown{text + suffix, value}
	}
	return value
}
