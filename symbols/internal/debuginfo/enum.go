package debuginfo

import (
	"slices"
	"strings"
)

// NamedValue is a name of a number: an enumerator, or a constant of Go.
type NamedValue struct {
	Name  string
	Value int64
}

// Limits on the names of a type's values, and of the constants of a unit.
const (
	maxNamed     = 1024
	maxConstants = 1 << 14
)

// constants are the constants of Go that a unit declares.
type constants struct {
	read bool
	of   map[uint64][]NamedValue // by the places of their types
}

// named returns the names of the values of a type, nil if they have none.
func (v *variables) named(t typ) (all []NamedValue) {
	switch {
	case t.tag == tagEnumerationType:
		t.each(v.unit.info, func(e *entry) bool {
			if e.depth == 0 {
				return e.off == t.off
			}
			if value := e.get(attrConstValue); e.depth == 1 && e.tag == tagEnumerator && value.form != 0 && value.str == nil {
				if name := v.string(t.node, e.get(attrName)); name != "" {
					all = append(all, NamedValue{name, int64(value.num)})
				}
			}
			return len(all) < maxNamed
		})
	case t.tag == tagBaseType && strings.Contains(t.name, ".") && v.data != nil:
		if v.consts == nil {
			v.consts = &constants{}
		}
		pkg := t.name[:strings.LastIndexByte(t.name, '.')+1]
		for _, c := range v.constants()[t.off] {
			all = append(all, NamedValue{strings.TrimPrefix(c.Name, pkg), c.Value})
		}
	}
	return all
}

// constants returns the constants that the unit with the code declares.
func (v *variables) constants() map[uint64][]NamedValue {
	if v.consts.read {
		return v.consts.of
	}
	v.consts.read, v.consts.of = true, map[uint64][]NamedValue{}
	if v.unit.info.spend(uint64(len(v.data))) < 0 {
		return nil
	}
	n := 0
	v.unit.entries(v.data, func(tag uint32) bool { return tag == tagConstant }, func(e *entry) bool {
		if e.tag != tagConstant || e.depth != 1 {
			return true
		}
		at := &node{info: v.unit.info, unit: v.unit.unit, entry: entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}
		value := e.get(attrConstValue)
		if t := v.typeOf(at); t.node != nil && value.form != 0 && value.str == nil {
			v.consts.of[t.off] = append(v.consts.of[t.off], NamedValue{v.string(at, e.get(attrName)), int64(value.num)})
			n++
		}
		return n < maxConstants
	})
	return v.consts.of
}
