package reader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// BTF kinds and magic number: Documentation/bpf/btf.rst, include/uapi/linux/btf.h.
const (
	btfMagic = 0xeb9f

	kindArray     = 3
	kindStruct    = 4
	kindUnion     = 5
	kindEnum      = 6
	kindFuncProto = 13
	kindDatasec   = 15
	kindFloat     = 16
	kindEnum64    = 19
)

// maxReach is the largest number of types that may be reached from one argument
// struct.
const maxReach = 10_000

// typeGraph knows which type refers to which in a .BTF section. Package btf decodes a
// type by recursion, one call for each type on the way, and Go ends a program whose
// stack grows beyond its limit. The typeGraph therefore measures the way first.
type typeGraph struct {
	bo      binary.ByteOrder
	data    []byte   // the section's types
	offsets []uint32 // where in data type id+1 begins
	seen    []bool   // types known to be harmless
	broken  error
}

func newTypeGraph(section []byte, bo binary.ByteOrder) (*typeGraph, error) {
	if len(section) < 24 { // sizeof(struct btf_header)
		return nil, fmt.Errorf("header: %w", io.ErrUnexpectedEOF)
	}
	start := uint64(bo.Uint32(section[4:])) + uint64(bo.Uint32(section[8:]))
	end := start + uint64(bo.Uint32(section[12:]))
	if end > uint64(len(section)) {
		return nil, fmt.Errorf("types: %w", io.ErrUnexpectedEOF)
	}
	g := &typeGraph{bo: bo, data: section[start:end]}
	for off := 0; off < len(g.data); {
		if len(g.data)-off < 12 { // sizeof(struct btf_type)
			return nil, fmt.Errorf("type %d: %w", len(g.offsets)+1, io.ErrUnexpectedEOF)
		}
		g.offsets = append(g.offsets, uint32(off))
		kind, vlen := g.kind(off)
		if kind > kindEnum64 {
			return nil, fmt.Errorf("type %d is of unknown kind %d", len(g.offsets), kind)
		}
		off += 12 + extra[kind].fixed + vlen*extra[kind].each
	}
	g.seen = make([]bool, len(g.offsets)+1)
	return g, nil
}

// extra is what follows a struct btf_type: bytes, and bytes per element.
var extra = [kindEnum64 + 1]struct{ fixed, each int }{
	1:             {fixed: 4}, // int
	kindArray:     {fixed: 12},
	kindStruct:    {each: 12},
	kindUnion:     {each: 12},
	kindEnum:      {each: 8},
	kindFuncProto: {each: 8},
	14:            {fixed: 4}, // var
	kindDatasec:   {each: 12},
	17:            {fixed: 4}, // decl_tag
	kindEnum64:    {each: 12},
}

func (g *typeGraph) kind(off int) (kind, vlen int) {
	info := g.bo.Uint32(g.data[off+4:])
	return int(info >> 24 & 0x1f), int(info & 0xffff)
}

// check returns an error if type id must not be decoded.
func (g *typeGraph) check(id uint32) error {
	if g.broken != nil {
		return g.broken
	}
	todo := []uint32{id}
	for reached := 0; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if uint64(id) > uint64(len(g.offsets)) {
			g.broken = fmt.Errorf("BTF type %d does not exist", id)
			return g.broken
		}
		if id == 0 || g.seen[id] {
			continue
		}
		g.seen[id] = true
		if reached++; reached > maxReach {
			g.broken = errors.New("BTF type refers to too many others")
			return g.broken
		}
		var err error
		if todo, err = g.refs(todo, int(g.offsets[id-1])); err != nil {
			g.broken = err
			return err
		}
	}
	return nil
}

// refs appends the types to which the type at off refers.
func (g *typeGraph) refs(dst []uint32, off int) ([]uint32, error) {
	kind, vlen := g.kind(off)
	body := off + 12
	size := extra[kind].fixed + vlen*extra[kind].each
	if size > len(g.data)-body {
		return nil, fmt.Errorf("BTF type: %w", io.ErrUnexpectedEOF)
	}
	at := func(i int) uint32 { return g.bo.Uint32(g.data[i:]) }
	switch kind {
	case 1, kindEnum, kindEnum64, kindFloat, 7: // int, forward declaration
		return dst, nil
	case kindArray:
		return append(dst, at(body), at(body+4)), nil
	case kindStruct, kindUnion:
		for i := range vlen {
			dst = append(dst, at(body+12*i+4))
		}
		return dst, nil
	case kindFuncProto:
		dst = append(dst, at(off+8))
		for i := range vlen {
			dst = append(dst, at(body+8*i+4))
		}
		return dst, nil
	case kindDatasec:
		for i := range vlen {
			dst = append(dst, at(body+12*i))
		}
		return dst, nil
	}
	return append(dst, at(off+8)), nil
}
