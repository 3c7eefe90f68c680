// Package typed has the names of values that debugging information gives to variables, arguments and
// results.
package typed

import (
	"strings"

	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// Known returns the variables of a probe whose values have names as a prototype, nil if there are
// none.
func Known(p *reader.Probe) *prototype.Prototype {
	if p == nil {
		return nil
	}
	out := &prototype.Prototype{Provider: p.Provider, Name: p.Name}
	add := func(all []reader.Variable) {
		for i := range all {
			if enum := Enum(&all[i]); enum != nil {
				out.Params = append(out.Params, prototype.Param{Name: all[i].Name, Type: all[i].Type, Kind: prototype.Enumeration, Enum: enum, Size: all[i].Size, Length: -1})
			} else if p.Kind == reader.Tracepoint && all[i].Kind == reader.Uint && strings.HasSuffix(all[i].Type, "*") {
				out.Params = append(out.Params, prototype.Param{Name: all[i].Name, Type: all[i].Type, Kind: prototype.Pointer, Size: all[i].Size, Length: -1})
			}
		}
	}
	if p.Source != nil {
		add(p.Source.Variables)
	}
	if p.Kernel != nil {
		add(p.Kernel.Fields)
	}
	if p.Target != nil && p.Target.Typed != nil {
		if p.Kind == reader.Uretprobe {
			add(p.Target.Typed.Results)
		} else {
			add(p.Target.Typed.Arguments)
		}
	}
	if add(p.Casts); len(out.Params) == 0 {
		return nil
	}
	return out
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
