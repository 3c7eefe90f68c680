package providertest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/event/args"
	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tap"
	"github.com/go-usdt/usdt/notes"
)

// mostElements is the number of a slice's elements that tracers read if these lead to
// bytes or elements of their own.
const mostElements = 8

// errTooDeep is what tracers say of a value that they do not read.
var errTooDeep = errors.New("it lies behind more than one pointer without a fixed place")

// place is memory with values. Tracers read what pointers lead to from a block, and from the
// first elements of a slice in it, but not from elements within elements.
type place struct {
	tap.Block
	fixed, repeated bool
}

// within returns the place at an offset.
func (p place) within(offset uint32) place {
	p.Block = tap.Record(p.Value(offset), uintptr(p.IPv4()))
	return p
}

// decode returns the arguments in a block, as tracers decode them by the same types.
func decode(t *btfgen.Struct, b tap.Block) []args.Arg {
	if t == nil {
		return nil
	}
	if b.IsNil() {
		var none []args.Arg
		for _, m := range t.Members {
			if !hidden(m.Name) {
				none = append(none, args.Arg{Name: m.Name, Err: args.ErrNil})
			}
		}
		return none
	}
	return fields(t, place{Block: b, fixed: true})
}

// hidden reports whether a member is no argument: the length of another one (FORMAT.md).
func hidden(name string) bool { return strings.HasPrefix(name, "__") }

// fields returns the values of a struct.
func fields(t *btfgen.Struct, p place) []args.Arg {
	all := make([]args.Arg, 0, len(t.Members))
	for _, m := range t.Members {
		if hidden(m.Name) {
			continue
		}
		a := args.Arg{Name: m.Name}
		if length, ok := lengthOf(t, m.Name); ok {
			a.Value, a.Err = counted(m.Type, p, m.Offset, length)
		} else {
			a.Value, a.Err = value(m.Type, p, m.Offset)
		}
		all = append(all, a)
	}
	return all
}

// lengthOf returns the offset of the hidden member with a member's length.
func lengthOf(t *btfgen.Struct, name string) (offset uint32, ok bool) {
	for _, m := range t.Members {
		if len(m.Name) == len(name)+6 && m.Name == "__"+name+"_len" {
			return m.Offset, true
		}
	}
	return 0, false
}

// value returns a value that lies at an offset.
func value(t btfgen.Type, p place, offset uint32) (any, error) {
	switch t := t.(type) {
	case btfgen.Typedef:
		return meant(t, p, offset)
	case btfgen.Const:
		return value(t.Of, p, offset)
	case btfgen.Int:
		n := number(p, offset, t.Bytes)
		switch unused := 64 - 8*t.Bytes; {
		case t.Encoding == btfgen.Bool:
			return n != 0, nil
		case t.Encoding&btfgen.Signed != 0:
			return int64(n<<unused) >> unused, nil
		}
		return n, nil
	case btfgen.Float:
		n := number(p, offset, t.Bytes)
		if t.Bytes == 4 {
			return float64(math.Float32frombits(uint32(n))), nil
		}
		return math.Float64frombits(n), nil
	case btfgen.Array:
		return array(t, p, offset)
	case *btfgen.Struct:
		return args.Struct(fields(t, p.within(offset))), nil
	}
	return number(p, offset, 8), nil // a pointer, which is not followed
}

// meant returns a value whose typedef says what it stands for.
func meant(t btfgen.Typedef, p place, offset uint32) (any, error) {
	switch t.Name {
	case notes.DurationType:
		return time.Duration(number(p, offset, 8)), nil
	case notes.TimeType:
		return args.Time(int64(number(p, offset, 8)))
	case notes.GoTimeType:
		return args.Time(notes.GoTime(number(p, offset, 8), int64(number(p, offset+8, 8))))
	case notes.GoAddrType:
		b, n := notes.GoAddr(number(p, offset, 8), number(p, offset+8, 8), number(p, offset+16, 8), p.IPv4())
		a, _ := args.Address(b[:n])
		return a, nil
	case notes.BytesType:
		return raw(p, offset, t.Size()), nil
	}
	return value(t.Of, p, offset)
}

// array returns the elements of an array, or its bytes.
func array(t btfgen.Array, p place, offset uint32) (any, error) {
	if i, ok := t.Elem.(btfgen.Int); ok && i.Name == "unsigned char" {
		return args.Hex(raw(p, offset, t.Size())), nil
	} else if ok && i.Name == "char" {
		text, _, _ := bytes.Cut(raw(p, offset, t.Size()), []byte{0})
		return string(text), nil
	}
	p.repeated = true
	n := t.Len
	if t.Size() == 0 {
		n = 0
	}
	return elements(t.Elem, p.within(offset), int(n)), nil
}

// elements returns n elements, the first of which begins where p does.
func elements(t btfgen.Type, p place, n int) args.List {
	list := make(args.List, n)
	for i := range list {
		e := p.within(uint32(i) * uint32(t.Size()))
		if data, length, ok := pair(t); ok {
			list[i].Value, list[i].Err = counted(data, e, 0, length)
		} else {
			list[i].Value, list[i].Err = value(t, e, 0)
		}
	}
	return list
}

// pair reports whether an element is a pointer and a length (FORMAT.md), and returns the type of
// the one and the offset of the other.
func pair(t btfgen.Type) (data btfgen.Type, length uint32, ok bool) {
	if s, is := t.(*btfgen.Struct); is && s.Name == "" && len(s.Members) == 2 && s.Members[0].Name == "data" && s.Members[1].Name == "__data_len" {
		return s.Members[0].Type, s.Members[1].Offset, true
	}
	return nil, 0, false
}

// leads reports whether a value has pointers with a length in it.
func leads(t btfgen.Type) bool {
	switch t := t.(type) {
	case btfgen.Typedef:
		return leads(t.Of)
	case btfgen.Array:
		return t.Size() > 0 && leads(t.Elem)
	case *btfgen.Struct:
		for _, m := range t.Members {
			if hidden(m.Name) {
				if to, ok := target(memberOf(t, m.Name)); ok && !opaque(to) {
					return true
				}
			} else if leads(m.Type) {
				return true
			}
		}
	}
	return false
}

// memberOf returns the type of the member whose length a hidden one is.
func memberOf(t *btfgen.Struct, length string) btfgen.Type {
	name := strings.TrimSuffix(strings.TrimPrefix(length, "__"), "_len")
	for _, m := range t.Members {
		if m.Name == name {
			return m.Type
		}
	}
	return nil
}

// target returns what a pointer leads to, nil for void.
func target(t btfgen.Type) (to btfgen.Type, ok bool) {
	for {
		switch u := t.(type) {
		case btfgen.Typedef:
			t = u.Of
		case btfgen.Pointer:
			if c, ok := u.To.(btfgen.Const); ok {
				return c.Of, true
			}
			return u.To, true
		default:
			return nil, false
		}
	}
}

// opaque reports whether tracers see the address of elements only.
func opaque(t btfgen.Type) bool {
	return t == nil || t.Size() == 0 || t.Size() > notes.MaxBlockSize
}

// counted returns what the pointer at an offset leads to, whose length lies at another one.
func counted(t btfgen.Type, p place, offset, length uint32) (v any, err error) {
	to, _ := target(t)
	if opaque(to) {
		return number(p, offset, 8), nil
	}
	if !p.fixed {
		return nil, errTooDeep
	}
	n := number(p, length, 8)
	// Other goroutines may change what is fired, so that a length is that of another pointer.
	defer func() {
		if recover() != nil {
			v, err = nil, args.ErrFault
		}
	}()
	inside := place{Block: tap.Record(p.Pointer(offset), uintptr(p.IPv4()))}
	if i, ok := to.(btfgen.Int); ok && i.Name == "unsigned char" {
		return form(t, raw(inside, 0, n)), nil
	} else if ok && i.Name == "char" {
		return string(raw(inside, 0, n)), nil
	}
	if !leads(to) || p.repeated {
		return elements(to, inside, int(n)), nil
	}
	most := min(mostElements, notes.MaxBlockSize/8/to.Size())
	if most == 0 {
		return nil, errTooDeep
	}
	inside.fixed, inside.repeated = true, true
	if n > most {
		err = fmt.Errorf("%w to %d of %d elements", args.ErrTruncated, most, n)
	}
	return elements(to, inside, int(min(n, most))), err
}

// form returns bytes as what their typedef says.
func form(t btfgen.Type, b []byte) any {
	def, _ := t.(btfgen.Typedef)
	switch def.Name {
	case notes.AddrType, notes.NetIPType:
		if a, ok := args.Address(b); ok {
			if def.Name == notes.NetIPType {
				a = a.Unmap()
			}
			return a
		}
	case notes.HexType:
		return args.Hex(b)
	}
	return b
}

// raw returns a copy of bytes, which lie in memory of the firing goroutine or of the heap
// until the listener returns.
func raw(p place, offset uint32, n uint64) []byte {
	return append([]byte{}, unsafe.Slice((*byte)(p.Value(offset)), n)...)
}

// number returns the number of size bytes at an offset. The memory is valid as that of raw is.
func number(p place, offset, size uint32) uint64 {
	return record.Number(unsafe.Slice((*byte)(p.Value(offset)), size), uint8(size))
}
