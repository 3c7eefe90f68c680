package kernfunc

import "slices"

// Types are the types of functions that a file has in its section .BTF, as GCC (-gbtf) and pahole write it.
type Types struct{ types *types }

// ReadTypes reads the section.
func ReadTypes(b []byte) (*Types, error) {
	t, err := readTypes(b, nil)
	if err != nil {
		return nil, err
	}
	return &Types{t}, nil
}

// Prototype returns what the types say of the function that one of names names.
func (t *Types) Prototype(names []string) (*Prototype, error) {
	return t.types.prototype(slices.Values(names))
}

// Behind returns the members of the structure to which an argument points, as Name, and Offset in the
// structure: numbers and pointers.
func (t *Types) Behind(a *Param) (members []BehindParam) {
	pointer, ok := t.types.bare(a.ID)
	if !ok || pointer.kind != kindPtr {
		return nil
	}
	typ, ok := t.types.bare(pointer.value)
	if !ok || typ.kind != kindStruct && typ.kind != kindUnion {
		return nil
	}
	for i := range min(typ.parts, maxBehind) {
		body := typ.body[12*i:]
		name, id, at := t.types.string(t.types.order.Uint32(body)), t.types.order.Uint32(body[4:]), t.types.order.Uint32(body[8:])
		if typ.flag { // a bit field's size is above its offset
			if at>>24 != 0 {
				continue
			}
			at &= 1<<24 - 1
		}
		if bare, ok := t.types.bare(id); !ok || bare.kind == kindArray {
			continue
		}
		m, ok := t.types.param(name, id)
		if !ok || name == "" || m.Kind == Other || m.Size > 8 {
			continue
		}
		members = append(members, BehindParam{m, int64(at / 8)})
	}
	return members
}

// BehindParam is a member of a structure to which an argument points.
type BehindParam struct {
	Param
	Offset int64
}

// maxBehind is how many members of a structure are looked at.
const maxBehind = 256
