package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/profile"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/total"
)

// meanings write the numbers of known probes for people to read: names of enumerations,
// addresses, units. JSON has the numbers.
type meanings struct {
	table *prototype.Table
	given *prototype.Table // of --providers
	of    map[*reader.Probe]*prototype.Prototype
}

// maxMeanings bounds the memory for sites that come and go.
const maxMeanings = 1 << 14

// prototype returns what is known of a probe's arguments beside what its object says, nil
// if nothing is.
func (m *meanings) prototype(p *reader.Probe) *prototype.Prototype {
	if p == nil || p.Type != nil || p.Kind != reader.USDT || len(m.table.Of(p.Provider, p.Name)) == 0 {
		return nil
	}
	return m.table.Lookup(p.Provider, p.Name, p.Arguments(), notes.Class(p.Class))
}

// shown is a number as text.
type shown string

func (s shown) String() string { return string(s) }

// event replaces the numbers of an event.
func (m *meanings) event(ev *event.Event) {
	if m.table == nil || ev.Probe == nil {
		return
	}
	known, ok := m.of[ev.Probe]
	if !ok {
		if m.of == nil || len(m.of) >= maxMeanings {
			m.of = map[*reader.Probe]*prototype.Prototype{}
		}
		known = m.prototype(ev.Probe)
		m.of[ev.Probe] = known
	}
	if known == nil {
		return
	}
	for i := range ev.Args {
		if a := &ev.Args[i]; a.Err == nil {
			a.Value = meaningOf(paramOf(known, a.Name), a.Value)
		}
	}
}

// groups replaces the numbers in groups' keys by what they mean at the probes of a plan.
func (m *meanings) groups(groups []total.Group, plan attach.Plan) {
	if m.table == nil || len(groups) == 0 {
		return
	}
	for i := range groups[0].By {
		param := m.param(groups[0].By[i].Name, plan)
		for j := range groups {
			if a := &groups[j].By[i]; a.Err == nil {
				a.Value = meaningOf(param, a.Value)
			}
		}
	}
}

// param returns the argument of a name at the first probe of a plan that has it, nil if
// none has.
func (m *meanings) param(name string, plan attach.Plan) *prototype.Param {
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

// profileUnits are the units of pprof for those of arguments.
var profileUnits = map[string]string{"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds", "bytes": "bytes", "kB": "kilobytes"}

// setUnit says what a profile counts if the argument that it adds up is known.
func (m *meanings) setUnit(p *profile.Profile, arg string, plan attach.Plan) {
	if m.table == nil {
		return
	}
	if param := m.param(arg, plan); param != nil && profileUnits[param.Unit] != "" {
		p.SetUnit(profileUnits[param.Unit])
	}
}

// suffixes are the units that follow numbers.
var suffixes = map[string]string{"us": "us", "ms": "ms", "s": "s", "bytes": "B", "kB": "kB"}

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
			return shown(fmt.Sprintf("%#x", v))
		}
		if param.Kind == prototype.Enumeration && v <= 1<<32-1 {
			signed = int64(int32(v)) // without a sign, compilers pass what has one
			if name := param.Enum.NameOf(int64(v)); name != "" {
				return shown(name)
			}
		}
	case int64:
		signed, text = v, strconv.FormatInt(v, 10)
	default:
		return value
	}
	if param.Kind == prototype.Enumeration {
		if name := param.Enum.NameOf(signed); name != "" {
			return shown(name)
		}
	}
	if suffix := suffixes[param.Unit]; suffix != "" {
		return shown(text + suffix)
	}
	return value
}
