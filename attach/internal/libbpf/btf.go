package libbpf

import (
	"errors"
	"fmt"
)

// Kinds of include/uapi/linux/btf.h that Patch deals with by name.
const (
	btfConst   = 10
	btfFunc    = 12
	btfVar     = 14
	btfDatasec = 15

	btfStatic = 0 // linkage of a btfFunc
)

// btfTails has, by kind, the sizes of what follows struct btf_type (12 bytes):
// fixed, and for each member.
var btfTails = [...]struct{ fixed, member int }{
	1:  {fixed: 4},   // int
	2:  {},           // ptr
	3:  {fixed: 12},  // array
	4:  {member: 12}, // struct
	5:  {member: 12}, // union
	6:  {member: 8},  // enum
	7:  {},           // fwd
	8:  {},           // typedef
	9:  {},           // volatile
	10: {},           // const
	11: {},           // restrict
	12: {},           // func
	13: {member: 8},  // func_proto
	14: {fixed: 4},   // var
	15: {member: 12}, // datasec
	16: {},           // float
	17: {fixed: 4},   // decl_tag
	18: {},           // type_tag
	19: {member: 12}, // enum64
}

const (
	sizeofType    = 12 // struct btf_type
	sizeofSecinfo = 12 // struct btf_var_secinfo; equal, so that one fits where the other was
)

// btfType is a type as it is encoded in type information.
type btfType struct {
	id     uint32 // as others refer to it
	kind   int
	name   string
	bytes  []byte // it and its members
	behind []byte // all types after it
}

// eachType calls f for every type.
func eachType(btf []byte, f func(btfType)) error {
	types, names, err := btfParts(btf)
	if err != nil {
		return err
	}
	id := uint32(1)
	for rest := types; len(rest) > 0; id++ {
		if len(rest) < sizeofType {
			return fmt.Errorf("type %d ends early", id)
		}
		info := order.Uint32(rest[4:])
		kind, vlen := int(info>>24&0x1f), int(info&0xffff)
		if kind == 0 || kind >= len(btfTails) {
			return fmt.Errorf("type %d is of unknown kind %d", id, kind)
		}
		size := sizeofType + btfTails[kind].fixed + vlen*btfTails[kind].member
		if len(rest) < size {
			return fmt.Errorf("type %d ends early", id)
		}
		f(btfType{id, kind, text(names, order.Uint32(rest)), rest[:size], rest[size:]})
		rest = rest[size:]
	}
	return nil
}

// makeStatic makes functions static.
func makeStatic(btf []byte, functions map[string]bool) error {
	return eachType(btf, func(t btfType) {
		if t.kind == btfFunc && functions[t.name] {
			order.PutUint32(t.bytes[4:], btfFunc<<24|btfStatic)
		}
	})
}

// dropVariable removes the variable from the data section's list of variables, in
// place: types keep their numbers, and a new type behind all others, which
// nothing refers to, fills the room. A list of this variable alone is left as it
// is: a loader does not use it then.
func dropVariable(btf []byte, section, variable string) error {
	var list btfType
	dropped := map[uint32]bool{}
	err := eachType(btf, func(t btfType) {
		switch {
		case t.kind == btfVar && t.name == variable:
			dropped[t.id] = true
		case t.kind == btfDatasec && t.name == section:
			list = t
		}
	})
	if err != nil || len(list.bytes) <= sizeofType+sizeofSecinfo {
		return err
	}
	for i := sizeofType; i < len(list.bytes); i += sizeofSecinfo {
		if dropped[order.Uint32(list.bytes[i:])] {
			order.PutUint32(list.bytes[4:], order.Uint32(list.bytes[4:])-1)
			space := list.bytes[i : len(list.bytes)+len(list.behind)]
			copy(space, space[sizeofSecinfo:])
			filler := space[len(space)-sizeofType:]
			clear(filler)
			order.PutUint32(filler[4:], btfConst<<24) // const void
			break
		}
	}
	return nil
}

// btfParts returns the types and the strings of type information.
func btfParts(btf []byte) (types, names []byte, err error) {
	const header = 24 // struct btf_header, the part that is used
	if len(btf) < header || order.Uint16(btf) != 0xeb9f {
		return nil, nil, errors.New("no BTF header")
	}
	at := func(off int) uint64 { return uint64(order.Uint32(btf[off:])) }
	start := at(4)
	types = slice(btf, start+at(8), at(12))
	names = slice(btf, start+at(16), at(20))
	if types == nil || names == nil {
		return nil, nil, errors.New("types or strings lie outside")
	}
	return types, names, nil
}
