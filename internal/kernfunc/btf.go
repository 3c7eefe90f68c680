package kernfunc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Kinds of types, include/uapi/linux/btf.h.
const (
	kindInt = iota + 1
	kindPtr
	kindArray
	kindStruct
	kindUnion
	kindEnum
	kindFwd
	kindTypedef
	kindVolatile
	kindConst
	kindRestrict
	kindFunc
	kindFuncProto
	kindVar
	kindDatasec
	kindFloat
	kindDeclTag
	kindTypeTag
	kindEnum64
)

// extra is how many bytes follow a type of a kind, and how many for each of its parts.
var extra = [...]struct{ fixed, part int }{
	kindInt: {4, 0}, kindPtr: {}, kindArray: {12, 0}, kindStruct: {0, 12}, kindUnion: {0, 12}, kindEnum: {0, 8},
	kindFwd: {}, kindTypedef: {}, kindVolatile: {}, kindConst: {}, kindRestrict: {}, kindFunc: {}, kindFuncProto: {0, 8},
	kindVar: {4, 0}, kindDatasec: {0, 12}, kindFloat: {}, kindDeclTag: {4, 0}, kindTypeTag: {}, kindEnum64: {0, 12},
}

// types is BTF, of which only an index is decoded: a whole kernel's takes a hundred megabytes as
// Go's structures.
type types struct {
	base    *types // of a module's; nil for the kernel's
	first   uint32 // the number of the first type
	data    []byte
	offsets []uint32 // of types, in data
	strings string   // the names of this object, numbered behind the names of base. Names share its memory
	order   binary.ByteOrder

	functions map[string]uint32 // types by name, 0 for several ones that differ

	mu     sync.Mutex
	params map[uint32]Param  // by type: arguments that have been asked for, without their names
	forms  map[uint32]string // of functions, by their types
}

var errBTF = errors.New("malformed BTF")

// headerSize is that of struct btf_header.
const headerSize = 24

// readTypes reads BTF. base is the kernel's, if the types are a module's.
func readTypes(b []byte, base *types) (*types, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: a header of %d bytes", errBTF, len(b))
	}
	t := &types{base: base, first: 1, order: binary.LittleEndian}
	if b[0] == 0xeb {
		t.order = binary.BigEndian
	}
	if magic := t.order.Uint16(b); magic != 0xeb9f || b[2] != 1 {
		return nil, fmt.Errorf("%w: magic %#x, version %d", errBTF, magic, b[2])
	}
	word := func(at int) uint64 { return uint64(t.order.Uint32(b[at:])) }
	section := func(at int) ([]byte, error) {
		from, size := word(4)+word(at), word(at+4)
		if from > uint64(len(b)) || size > uint64(len(b))-from {
			return nil, fmt.Errorf("%w: a section of %d bytes at %d", errBTF, size, from)
		}
		return b[from : from+size : from+size], nil
	}
	var err error
	if t.data, err = section(8); err != nil {
		return nil, err
	}
	names, err := section(16)
	if err != nil {
		return nil, err
	}
	t.strings = string(names)
	if base != nil {
		t.first = base.first + uint32(len(base.offsets))
	}
	return t, t.index()
}

// index notes where types begin, and which are functions.
func (t *types) index() error {
	t.functions = map[string]uint32{}
	for at := 0; at < len(t.data); {
		if len(t.data)-at < 12 {
			return fmt.Errorf("%w: a type of %d bytes", errBTF, len(t.data)-at)
		}
		id := t.first + uint32(len(t.offsets))
		t.offsets = append(t.offsets, uint32(at))
		typ := t.at(uint32(at))
		if typ.kind == 0 || int(typ.kind) >= len(extra) {
			return fmt.Errorf("%w: type %d has kind %d", errBTF, id, typ.kind)
		}
		at += 12 + extra[typ.kind].fixed + extra[typ.kind].part*typ.parts
		if at > len(t.data) {
			return fmt.Errorf("%w: type %d has %d parts", errBTF, id, typ.parts)
		}
	}
	for i, at := range t.offsets {
		typ := t.at(at)
		if typ.kind != kindFunc {
			continue
		}
		id, name := t.first+uint32(i), t.string(typ.name)
		if other, ok := t.functions[name]; ok && (other == 0 || !t.sameProto(other, id)) {
			id = 0
		}
		t.functions[name] = id
	}
	return nil
}

// sameProto reports whether two functions have one type.
func (t *types) sameProto(a, b uint32) bool {
	x, okX := t.of(a)
	y, okY := t.of(b)
	return okX && okY && x.value == y.value
}

// typ is the head of a type.
type typ struct {
	name, value uint32 // value is a size or another type
	kind        uint8
	flag        bool
	parts       int
	body        []byte // behind the head
	in          *types
}

func (t *types) at(at uint32) typ {
	head := t.data[at:]
	info := t.order.Uint32(head[4:])
	return typ{
		name: t.order.Uint32(head), value: t.order.Uint32(head[8:]),
		kind: uint8(info >> 24 & 0x1f), flag: info>>31 != 0, parts: int(info & 0xffff), body: head[12:], in: t,
	}
}

// of returns a type by its number.
func (t *types) of(id uint32) (typ, bool) {
	if id < t.first {
		if t.base == nil {
			return typ{}, false
		}
		return t.base.of(id)
	}
	if i := id - t.first; i < uint32(len(t.offsets)) {
		return t.at(t.offsets[i]), true
	}
	return typ{}, false
}

// all returns how many bytes the strings have, with base's.
func (t *types) all() uint32 {
	n := uint32(len(t.strings))
	if t.base != nil {
		n += t.base.all()
	}
	return n
}

// string returns a name.
func (t *types) string(at uint32) string {
	if t.base != nil {
		behind := t.base.all()
		if at < behind {
			return t.base.string(at)
		}
		at -= behind
	}
	if at >= uint32(len(t.strings)) {
		return ""
	}
	name := t.strings[at:]
	if end := strings.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return name[:min(len(name), maxLine)]
}

// maxDepth is more types than lead from one to another without a circle.
const maxDepth = 32

// bare returns what is behind typedefs and qualifiers; ok is false for void.
func (t *types) bare(id uint32) (out typ, ok bool) {
	for range maxDepth {
		if out, ok = t.of(id); !ok {
			return out, false
		}
		switch out.kind {
		case kindTypedef, kindVolatile, kindConst, kindRestrict, kindTypeTag:
			id = out.value
		default:
			return out, true
		}
	}
	return out, false
}

// declare returns a type as C writes it, without a name.
func (t *types) declare(id uint32) string { return t.declareWithin(id, maxDepth) }

func (t *types) declareWithin(id uint32, depth int) string {
	typ, ok := t.of(id)
	if !ok || depth == 0 {
		return "void"
	}
	name := t.string(typ.name)
	inner := func() string { return t.declareWithin(typ.value, depth-1) }
	switch typ.kind {
	case kindConst:
		if next, ok := t.of(typ.value); ok && next.kind == kindPtr {
			return inner() + "const"
		}
		return "const " + inner()
	case kindVolatile, kindRestrict, kindTypeTag:
		return inner()
	case kindPtr:
		to := inner()
		if strings.HasSuffix(to, "*") {
			return to + "*"
		}
		return to + " *"
	case kindFuncProto, kindArray:
		return "void"
	case kindStruct:
		return "struct " + name
	case kindUnion:
		return "union " + name
	case kindEnum, kindEnum64:
		return "enum " + name
	case kindFwd:
		if typ.flag {
			return "union " + name
		}
		return "struct " + name
	}
	return name
}
