package debuginfo

import "slices"

// An attribute that Go adds to types (cmd/internal/dwarf/dwarf.go).
const attrGoRuntimeType = 0x2904

// GoType is a type whose description a Go program has (internal/abi.Type).
type GoType struct {
	Name string
	At   uint64 // its address or, from Go 1.26 on, its distance from the first
}

// maxGoTypes bounds the types of a program. A program with more has none.
const maxGoTypes = 1 << 13

// GoTypes returns the types that values in interfaces may have, nil if there are too many.
func (d *Info) GoTypes() (all []GoType) {
	for number := range d.units {
		if d.spend(d.units[number].end-d.units[number].off) < 0 {
			return nil
		}
		u, data, _, _, _ := d.openUnit(number)
		if u == nil {
			continue
		}
		u.entries(data, isGoType, func(e *entry) bool {
			if at := e.get(attrGoRuntimeType); e.depth == 1 && at.form != 0 && at.num != 0 {
				all = append(all, GoType{d.string(u.unit, e.get(attrName)), at.num})
			}
			return len(all) <= maxGoTypes
		})
		if len(all) > maxGoTypes {
			return nil
		}
	}
	return all
}

// isGoType reports whether entries with a tag have attrGoRuntimeType.
func isGoType(tag uint32) bool {
	switch tag {
	case tagBaseType, tagStructureType, tagPointerType, tagTypedef, tagArrayType, tagSubroutineType:
		return true
	}
	return false
}

// inInterface appends a value in an interface of Go, unless t is no interface: what its type is, and
// its two words as members. It reports whether it did.
func (v *variables) inInterface(name string, argument bool, t typ, where func(offset, size uint64) (Place, error)) bool {
	word := "tab"
	switch v.string(t.node, t.get(attrName)) {
	case "runtime.iface":
	case "runtime.eface":
		word = "_type"
	default:
		return false
	}
	const size = 8
	x := Variable{Name: name, Argument: argument, Type: t.name, Encoding: Pointer, Size: size, Interface: true}
	x.Place, x.Err = where(0, size)
	v.add(x)
	first := Variable{Name: name + "." + word, Argument: argument, Type: "unsafe.Pointer", Encoding: Pointer, Size: size, Place: x.Place, Err: x.Err}
	v.add(first)
	data := first
	data.Name = name + ".data"
	data.Place, data.Err = where(size, size)
	v.add(data)
	return true
}

// Value is the name of what EachType finds parts of.
const Value = "VALUE"

// EachType calls f with what is behind the address of each type that is wanted, as Cast has it: parts
// of a value called Value. It reads nothing if the types would take more work than the file is worth.
func (d *Info) EachType(wanted func(name string) bool, f func(name string, parts []Variable)) {
	cast := &types{cast: Cast{Name: Value, Pointer: true}, datas: map[*unit][]byte{}}
	for number := range d.units {
		if d.spend(d.units[number].end-d.units[number].off) < 0 {
			return
		}
		u, data, _, _, _ := d.openUnit(number)
		if u == nil {
			continue
		}
		cast.datas[u.unit] = data
		begin := u.unit.end - uint64(len(data))
		u.entries(data, isGoType, func(e *entry) bool {
			if e.depth != 1 || e.tag == tagPointerType {
				return true
			}
			if name := d.string(u.unit, e.get(attrName)); wanted(name) {
				found := &foundType{node{u.info, u.unit, data[e.off-begin:], entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}, name, u}
				if parts, _, err := cast.parts(found); err == nil {
					f(name, parts)
				}
			}
			return true
		})
	}
}
