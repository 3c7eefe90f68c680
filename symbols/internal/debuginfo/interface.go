package debuginfo

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
	switch t.info.string(t.unit, t.get(attrName)) {
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
