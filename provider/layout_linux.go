//go:build !usdt_nolocal

package provider

import (
	"strings"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/notes"
)

// layout returns the layout of a record's records with n slots, of which no pointers
// are followed: that of shape.OfBlock, which a test compares. A reader of a recording makes it
// from the types.
func (s *signature) layout(n int) *record.Layout {
	l := &record.Layout{Slots: n, Block: s.size(), Limit: recordedString}
	if s.typ != nil {
		b := layouter{Layout: l}
		b.members(s.typ, area{size: uint64(l.Block), read: l.BlockRead(), fixed: true}, 0)
	}
	return l
}

// layouter finds the strings and slices of a record.
type layouter struct {
	*record.Layout
	fields  int
	inArray bool
	unread  bool // whether a string has no fixed place
}

// area is where values lie: in the block, in the elements of a slice that are copied
// to a fixed place, or in the elements of one that is not.
type area struct {
	at    uint32
	size  uint64
	read  int
	fixed bool
}

const (
	maxRecordReads = record.MaxBlockReads
	maxElements    = 8
)

func (b *layouter) members(s *btfgen.Struct, in area, depth int) {
	for _, m := range s.Members {
		if len(m.Name) > 1 && m.Name[:2] == "__" {
			continue
		}
		length := uint32(0)
		for _, other := range s.Members {
			if other.Name == lengthName(m.Name) {
				length = other.Offset
			}
		}
		b.member(m.Type, m.Offset, length, in, depth)
	}
}

func (b *layouter) member(t btfgen.Type, offset, length uint32, in area, depth int) {
	b.fields++
	if p, ok := underlying(t).(btfgen.Pointer); ok {
		if length != 0 {
			b.counted(underlying(p.To), record.String{Sized: true, Pointer: in.at + offset, Length: in.at + length, Region: in.read}, in, depth)
		}
		return
	}
	if d, ok := t.(btfgen.Typedef); ok && (d.Name == notes.GoTimeType || d.Name == notes.GoAddrType) || b.fields >= notes.MaxFields || depth >= notes.MaxNesting {
		return
	}
	in.at, in.size = in.at+offset, t.Size()
	switch u := underlying(t).(type) {
	case *btfgen.Struct:
		b.members(u, in, depth+1)
	case btfgen.Array:
		if i, ok := underlying(u.Elem).(btfgen.Int); ok && i.Bytes == 1 && (i.Name == "unsigned char" || i.Name == "char") || u.Len == 0 || u.Elem.Size() == 0 {
			return
		}
		outer := b.inArray
		b.inArray = true
		in.size = u.Elem.Size()
		b.elements(u.Elem, int(u.Len), in, depth)
		b.inArray = outer
	}
}

// elements adds the strings of n values, of which the first lies in an area.
func (b *layouter) elements(t btfgen.Type, n int, in area, depth int) {
	start := len(b.Strings)
	b.element(t, in, depth+1)
	each := b.Strings[start:]
	if len(each) == 0 {
		return
	}
	for i := 1; i < n && b.Reads()+len(each) <= maxRecordReads; i++ {
		for _, s := range each {
			s.Pointer += uint32(i) * uint32(in.size)
			s.Length += uint32(i) * uint32(in.size)
			b.Strings = append(b.Strings, s)
		}
	}
}

func (b *layouter) element(t btfgen.Type, in area, depth int) {
	if s, ok := t.(*btfgen.Struct); ok && s.Name == "" && len(s.Members) == 2 && s.Members[0].Name == "data" {
		b.member(s.Members[0].Type, s.Members[0].Offset, s.Members[1].Offset, in, depth)
		return
	}
	b.member(t, 0, 0, in, depth)
}

// counted adds a string, bytes or a slice.
func (b *layouter) counted(t btfgen.Type, read record.String, in area, depth int) {
	if i, ok := t.(btfgen.Int); !ok || i.Name != "char" && i.Name != "unsigned char" {
		size := uint64(0)
		if t != nil {
			size = t.Size()
		}
		if size == 0 || size > notes.MaxBlockSize || b.fields >= notes.MaxFields || depth >= notes.MaxNesting {
			return
		}
		before := b.unread
		b.unread = false
		b.element(t, area{size: size}, depth+1)
		needsPlace := b.unread
		b.unread = before
		if needsPlace && in.fixed && !b.inArray {
			b.countedElements(t, read, depth)
			return
		}
		read.Elem = uint32(size)
	}
	switch {
	case !in.fixed:
		b.unread = true
	case b.Reads() < maxRecordReads:
		b.Strings = append(b.Strings, read)
	}
}

func (b *layouter) countedElements(t btfgen.Type, read record.String, depth int) {
	size := uint32(t.Size())
	n := min(maxElements, notes.MaxBlockSize/8/size)
	end := uint64(b.FixedSize() - b.BlockOffset())
	if n == 0 || b.Reads() == maxRecordReads || end+uint64(n*size) > notes.MaxBlockSize {
		return
	}
	at := b.AddIndirect(record.Indirect{Pointer: read.Pointer, Length: read.Length, Elem: size, Size: n * size})
	b.inArray = true
	b.elements(t, int(n), area{at: at, size: uint64(size), read: b.RegionRead(at), fixed: true}, depth)
	b.inArray = false
}

// underlying returns t without typedefs and consts.
func underlying(t btfgen.Type) btfgen.Type {
	for {
		switch u := t.(type) {
		case btfgen.Const:
			t = u.Of
		case btfgen.Typedef:
			t = u.Of
		default:
			return t
		}
	}
}

// size returns the size of the argument block.
func (s *signature) size() uint32 {
	if s.typ == nil {
		return 0
	}
	return s.typ.Bytes
}

// accept checks that the records that a tracer wants can be made of the arguments
// without reading any memory that is not theirs. It returns the layout if records are
// more than slots, block and texts, and nil if they are not.
func (s *signature) accept(l *record.Layout, slots []rendezvous.Slot) (captured *record.Layout, ok bool) {
	if l.Block != s.size() || l.Limit < 0 || l.Stack.Most > maxStack {
		return nil, false
	}
	for _, slot := range slots {
		if slot != rendezvous.IPv4 && slot != rendezvous.Goroutine {
			return nil, false
		}
	}
	if len(s.args) > 0 {
		n := 0
		for _, a := range s.args {
			if s.addresses&(1<<a.slot) == 0 {
				continue
			}
			if n == len(l.Strings) || l.Strings[n].Pointer != 8*uint32(a.slot) || l.Strings[n].Length != 8*uint32(a.lenSlot) || l.Strings[n].Elem != 0 {
				return nil, false
			}
			n++
		}
		return nil, n == len(l.Strings) && len(l.Indirects) == 0
	}
	if s.typ == nil {
		return nil, len(l.Indirects)+len(l.Strings) == 0
	}
	m := described{layout: l}
	m.add(0, s.typ, 1)
	for i := range l.Indirects {
		in := &l.Indirects[i]
		to, length, ok := m.pointer(in.Pointer)
		if !ok || to == nil || to.Size() == 0 {
			return nil, false
		}
		switch size := uint64(in.Size); {
		case in.Elem == 0:
			if length != 0 || size > to.Size() {
				return nil, false
			}
		case in.Length != length || uint64(in.Elem) != to.Size() || size%to.Size() != 0:
			return nil, false
		}
		m.add(in.Offset, to, uint64(in.Size)/to.Size())
	}
	for i := range l.Strings {
		str := &l.Strings[i]
		to, length, ok := m.pointer(str.Pointer)
		if !ok || to == nil || length != str.Length || to.Size() != uint64(str.Width()) {
			return nil, false
		}
	}
	if len(l.Indirects)+len(l.Strings)+len(slots) == 0 && s.typ.Bytes%8 == 0 {
		return nil, true
	}
	return l, true
}

// described are the parts of a record that have a type.
type described struct {
	layout *record.Layout
	parts  []part
}

// part is n values of a type, at an offset from the start of the block.
type part struct {
	_      [0]func() // without a function that compares two
	offset uint32
	typ    btfgen.Type
	n      uint64
}

func (d *described) add(offset uint32, t btfgen.Type, n uint64) {
	d.parts = append(d.parts, part{offset: offset, typ: t, n: n})
}

// pointer returns what the pointer at an offset points to, and the offset of its
// length, which is 0 for a pointer without one. (No length is the first of a block.)
func (d *described) pointer(offset uint32) (to btfgen.Type, length uint32, ok bool) {
	for _, p := range d.parts {
		size := p.typ.Size()
		at := uint64(offset) - uint64(p.offset)
		if offset < p.offset || at >= size*p.n {
			continue
		}
		base := offset - uint32(at%size) // of the value
		to, behind, ok := pointerIn(p.typ, at%size)
		if behind != 0 {
			behind += uint64(base)
		}
		return to, uint32(behind), ok
	}
	return nil, 0, false
}

// pointerIn returns what the pointer at an offset in a value of type t points to, and
// the offset of its length in the value, 0 for none.
func pointerIn(t btfgen.Type, at uint64) (to btfgen.Type, length uint64, ok bool) {
	switch t := t.(type) {
	case btfgen.Const:
		return pointerIn(t.Of, at)
	case btfgen.Typedef:
		return pointerIn(t.Of, at)
	case btfgen.Pointer:
		return plain(t.To), 0, at == 0
	case btfgen.Array:
		if t.Elem == nil || t.Elem.Size() == 0 {
			return nil, 0, false
		}
		size := t.Elem.Size()
		to, length, ok = pointerIn(t.Elem, at%size)
		if length != 0 {
			length += at - at%size
		}
		return to, length, ok
	case *btfgen.Struct:
		for _, m := range t.Members {
			if m.Type == nil || at < uint64(m.Offset) || at-uint64(m.Offset) >= m.Type.Size() || strings.HasPrefix(m.Name, "__") && m.Type == btfgen.Type(countType) {
				continue
			}
			to, length, ok = pointerIn(m.Type, at-uint64(m.Offset))
			switch {
			case length != 0:
				length += uint64(m.Offset)
			case at == uint64(m.Offset):
				for _, other := range t.Members {
					if other.Name == lengthName(m.Name) {
						length = uint64(other.Offset)
					}
				}
			}
			return to, length, ok
		}
	}
	return nil, 0, false
}

// plain returns t without what does not change its size.
func plain(t btfgen.Type) btfgen.Type {
	if c, ok := t.(btfgen.Const); ok {
		return c.Of
	}
	return t
}
