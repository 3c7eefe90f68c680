package btfgen

import (
	"encoding/binary"
	"fmt"
)

// Kinds of types (include/uapi/linux/btf.h: BTF_KIND_INT …).
const (
	kindInt     = 1
	kindPtr     = 2
	kindArray   = 3
	kindStruct  = 4
	kindTypedef = 8
	kindConst   = 10
	kindFloat   = 16
)

const (
	magic      = 0xeb9f // BTF_MAGIC
	version    = 1      // BTF_VERSION
	headerSize = 24     // struct btf_header
)

// MaxMembers is the largest number of members of a struct (BTF_MAX_VLEN).
const MaxMembers = 0xffff

// index is the type of an array's index, which BTF requires.
var index = Int{Name: "unsigned int", Bytes: 4}

// Marshal returns the contents of a .BTF section with the structs roots and
// everything that they contain or point to. The structs of roots have the ids 1, 2, …
// in their order; roots must have no struct twice. Equal structs in equal order give
// equal bytes.
func Marshal(order binary.AppendByteOrder, roots []*Struct) ([]byte, error) {
	e := encoder{
		order:   order,
		out:     make([]byte, headerSize),
		ids:     make(map[Type]uint32, len(roots)),
		strings: map[string]uint32{"": 0},
		names:   []byte{0},
	}
	for _, s := range roots {
		e.id(s)
	}
	// Encoding a type finds the types that it is made of.
	for i := 0; i < len(e.types); i++ {
		if err := e.encode(e.types[i]); err != nil {
			return nil, err
		}
	}
	types := uint32(len(e.out) - headerSize)
	h := e.order.AppendUint16(e.out[:0], magic)
	h = e.order.AppendUint32(append(h, version, 0 /* flags */), headerSize)
	h = e.order.AppendUint32(h, 0) // type_off
	h = e.order.AppendUint32(h, types)
	h = e.order.AppendUint32(h, types) // str_off
	e.order.AppendUint32(h, uint32(len(e.names)))
	return append(e.out, e.names...), nil
}

// encoder writes types in the order in which they were found.
type encoder struct {
	order   binary.AppendByteOrder
	out     []byte
	types   []Type
	ids     map[Type]uint32
	strings map[string]uint32 // the offset of each in names
	names   []byte
}

// id returns the id of a type, and queues the type for encoding if it is new. Void is
// 0. It is not inlined, and neither is name, because inlining would add 2 kB to each
// service that declares probes.
//
//go:noinline
func (e *encoder) id(t Type) uint32 {
	if t == nil {
		return 0
	}
	id, ok := e.ids[t]
	if !ok {
		e.types = append(e.types, t)
		id = uint32(len(e.types))
		e.ids[t] = id
	}
	return id
}

// name returns the offset of a string in names.
//
//go:noinline
func (e *encoder) name(s string) uint32 {
	at, ok := e.strings[s]
	if !ok {
		at = uint32(len(e.names))
		e.strings[s] = at
		e.names = append(append(e.names, s...), 0)
	}
	return at
}

func (e *encoder) put(a, b, c uint32) {
	e.out = e.order.AppendUint32(e.out, a)
	e.out = e.order.AppendUint32(e.out, b)
	e.out = e.order.AppendUint32(e.out, c)
}

// head writes struct btf_type. The last word is the size or the id of another type.
func (e *encoder) head(name string, kind, members int, last uint32) {
	e.put(e.name(name), uint32(kind)<<24|uint32(members), last)
}

func (e *encoder) encode(t Type) error {
	switch t := t.(type) {
	case Int:
		e.head(t.Name, kindInt, 0, t.Bytes)
		e.out = e.order.AppendUint32(e.out, uint32(t.Encoding)<<24|t.Bytes*8)
	case Float:
		e.head(t.Name, kindFloat, 0, t.Bytes)
	case Pointer:
		e.head("", kindPtr, 0, e.id(t.To))
	case Const:
		e.head("", kindConst, 0, e.id(t.Of))
	case Typedef:
		e.head(t.Name, kindTypedef, 0, e.id(t.Of))
	case Array:
		e.head("", kindArray, 0, 0)
		e.put(e.id(t.Elem), e.id(index), t.Len)
	case *Struct:
		if len(t.Members) > MaxMembers {
			return fmt.Errorf("struct %s has %d members, and BTF allows %d", t.Name, len(t.Members), MaxMembers)
		}
		e.head(t.Name, kindStruct, len(t.Members), t.Bytes)
		for _, m := range t.Members {
			e.put(e.name(m.Name), e.id(m.Type), m.Offset*8)
		}
	default:
		return fmt.Errorf("BTF type %T is not supported", t)
	}
	return nil
}
