// Package typed has what debugging information says of the values of variables, arguments and results:
// their names, and whether they are pointers.
package typed

import (
	"strings"

	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Known returns the variables of a probe that are pointers, or whose values have names, as a
// prototype, nil if there are none.
func Known(p *reader.Probe) *prototype.Prototype {
	if p == nil {
		return nil
	}
	out := &prototype.Prototype{Provider: p.Provider, Name: p.Name}
	add := func(all []reader.Variable) {
		for i := range all {
			if enum := Enum(&all[i]); enum != nil {
				out.Params = append(out.Params, prototype.Param{Name: all[i].Name, Type: all[i].Type, Kind: prototype.Enumeration, Enum: enum, Size: all[i].Size, Length: -1})
			} else if all[i].Kind == reader.Uint && isPointer(all[i].Type) {
				out.Params = append(out.Params, prototype.Param{Name: all[i].Name, Type: all[i].Type, Kind: prototype.Pointer, Size: all[i].Size, Length: -1})
			}
		}
	}
	each(p, add)
	if len(out.Params) == 0 {
		return nil
	}
	return out
}

// each calls add with what debugging information has of a probe.
func each(p *reader.Probe, add func([]reader.Variable)) {
	if p.Source != nil {
		add(p.Source.Variables)
	}
	if p.Kernel != nil {
		add(p.Kernel.Fields)
	}
	if p.Target != nil && p.Target.Typed != nil {
		if p.Kind.IsReturn() {
			add(p.Target.Typed.Results)
		} else {
			add(p.Target.Typed.Arguments)
		}
	}
	add(p.Casts)
}

// Interfaces returns the variables of a probe that are interfaces of Go, or in one, by their names; nil if
// there are none.
func Interfaces(p *reader.Probe) (all map[string]*reader.Variable) {
	each(p, func(some []reader.Variable) {
		for i := range some {
			if v := &some[i]; v.Held != nil || v.Interface {
				if all == nil {
					all = map[string]*reader.Variable{}
				}
				all[v.Name] = v
			}
		}
	})
	return all
}

// Enum returns the names of a variable's values, nil if they have none.
func Enum(v *reader.Variable) *prototype.Enum {
	if len(v.Named) == 0 {
		return nil
	}
	out := prototype.NewEnum(v.Type)
	for _, n := range v.Named {
		out.Add(n.Name, n.Value)
	}
	return out
}

// isPointer reports whether a type is a pointer as C, C++, Go and Rust write it.
func isPointer(name string) bool {
	return strings.HasSuffix(name, "*") || strings.HasSuffix(name, "(*)()") || strings.HasPrefix(name, "*") || strings.HasPrefix(name, "&") || name == "unsafe.Pointer"
}
