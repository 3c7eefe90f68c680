package shape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Limits on what is read of one event.
const (
	// maxBlock is the largest number of bytes that are read of an argument block, and
	// of what its pointers lead to.
	maxBlock = notes.MaxBlockSize
	// maxFields is the largest number of a probe's fields, maxNesting the largest
	// depth of its structs, arrays and pointers; what lies beyond is bytes.
	maxFields  = notes.MaxFields
	maxNesting = notes.MaxNesting
	// maxFollowed is the largest number of pointers that are followed without being
	// named in full.
	maxFollowed = 12
	// maxElements is the largest number of a slice's elements that are read if they
	// have strings, each of which takes a read.
	maxElements = 8
)

// region is a part of a record in which values lie.
type region struct {
	base int    // offset in the record, or in the bytes of a slice
	size uint32 // bytes
	read int    // the read of the region: a bit of record.Layout.Failed
	// fixed reports that BPF programs know the region's place, and can follow
	// pointers in it.
	fixed bool
}

// Follow reports which pointers are followed, by their paths: exact if the path names
// the pointer in full, ok also if a pattern matches it. At most maxFollowed pointers
// of the latter kind are followed. A nil Follow follows none.
type Follow func(path string) (exact, ok bool)

// OfBlock returns the shape of records that hold all of a probe's argument block, and
// one slot if the probe needs IPv4Slot. limit bytes of each string are kept.
func OfBlock(t *reader.Type, limit int, follow Follow) (*Shape, error) {
	s := &Shape{Layout: &record.Layout{Limit: limit}}
	if len(t.Fields) == 0 {
		return s, nil
	}
	if err := CheckBlock(t); err != nil {
		return nil, err
	}
	if t.Record.Flags&notes.IPv4Register != 0 {
		s.IPv4, s.Layout.Slots = true, 1
	}
	s.AddBlock(t, follow)
	s.Bound(0)
	return s, nil
}

// CheckBlock returns why the argument block of a probe cannot be read.
func CheckBlock(t *reader.Type) error {
	switch size := t.Record.BlockSize; {
	case t.Record.BlockReg == notes.NoBlock:
		return errNoBlock
	case size == 0 || size > maxBlock:
		return fmt.Errorf("an argument block of %d bytes is not between 1 and %d", size, maxBlock)
	}
	return nil
}

// AddBlock adds a probe's argument block, and what its pointers lead to, to the
// layout, which must have all its slots, and the probe's arguments to the fields.
func (s *Shape) AddBlock(t *reader.Type, follow Follow) {
	s.Layout.Block = t.Record.BlockSize
	b := blockBinder{sc: s, layout: s.Layout, follow: follow}
	whole := region{base: s.Layout.BlockOffset(), size: s.Layout.Block, read: s.Layout.BlockRead(), fixed: true}
	s.Fields = append(s.Fields, b.members(t.Fields, whole, "", 0)...)
}

// Errors that say why an argument of a typed probe has no value.
var (
	errNoBlock  = errors.New("the object does not say where the argument block is")
	errOverlaps = errors.New("it overlaps the member in front of it")
	errTooDeep  = errors.New("it lies behind more than one pointer without a fixed place")

	// ErrTooManyParts is the error of an argument that would need one read too many.
	ErrTooManyParts = fmt.Errorf("more than %d strings, slices and pointers need a read of their own", record.MaxBlockReads-1)
)

// blockBinder finds the places of the values of typed arguments.
type blockBinder struct {
	sc      *Shape
	layout  *record.Layout
	follow  Follow
	fields  int  // number of fields so far
	inArray bool // whether the region repeats, so that nothing in it is followed
	unread  bool // whether a string has no fixed place
}

// members describes arguments, or the members of a struct, in a region. prefix leads to
// them. A member that lies on one in front of it has no value: unions are bytes.
func (b *blockBinder) members(all []reader.Field, in region, prefix string, depth int) []Field {
	out := make([]Field, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].Offset, all[j].Offset) })
	covered := make([]bool, len(all))
	end := uint64(0)
	for _, i := range order {
		f := &all[i]
		covered[i] = f.Size > 0 && uint64(f.Offset) < end
		end = max(end, uint64(f.Offset)+uint64(f.Size))
	}
	for i := range all {
		f := &all[i]
		if covered[i] {
			out[i] = Field{Name: f.Name, Kind: f.Kind, Err: errOverlaps}
			continue
		}
		out[i] = b.field(f, in, prefix+f.Name, depth)
	}
	return out
}

// field describes an argument, or a member of a struct, in a region. path leads to
// it.
func (b *blockBinder) field(t *reader.Field, in region, path string, depth int) Field {
	f := Field{Name: t.Name, Kind: t.Kind, Meaning: t.Meaning, Offset: in.base + int(t.Offset), Read: in.read}
	inside := func(off, size uint32) bool { return off <= in.size && size <= in.size-off }
	b.fields++
	switch {
	case inside(t.Offset, t.Size) && t.Size == 0 && t.Kind == reader.Other && b.fields < maxFields && depth < maxNesting:
		b.composite(&f, t, in, path, depth) // it has no elements, or no fields
	case !inside(t.Offset, t.Size) || t.Size == 0:
		f.Err = fmt.Errorf("field at byte %d with %d bytes is not within the %d bytes around it", t.Offset, t.Size, in.size)
	case t.LenOffset != 0 || t.Kind == reader.String || t.Kind == reader.Bytes:
		if t.Size != 8 || !inside(t.LenOffset, 8) {
			f.Err = fmt.Errorf("pointer of %d bytes, or its length, is not within the argument block", t.Size)
			break
		}
		b.counted(&f, t, in, path, depth)
	case t.Kind == reader.Other && t.Meaning == reader.Time:
		f.Source, f.Kind, f.Size = FromGoTime, reader.Int, 8
	case t.Kind == reader.Other && t.Meaning == reader.Address && b.sc.IPv4:
		f.Source, f.Kind = FromGoAddr, reader.Bytes
	case t.Kind == reader.Other && b.fields < maxFields && depth < maxNesting:
		b.composite(&f, t, in, path, depth)
	case t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8:
		f.Source, f.Size = FromRecord, uint8(t.Size)
	default:
		f.Source, f.Count = FromRaw, int(t.Size)
	}
	return f
}

// element describes a value that is no member of a struct: an element, or what a
// pointer leads to.
func (b *blockBinder) element(name string, t btf.Type, in region, path string, depth int) Field {
	members := []btf.Member{{Name: "element", Type: t}}
	if s, ok := t.(*btf.Struct); ok && s.Name == "" && len(s.Members) == 2 && s.Members[0].Name == "data" && s.Members[1].Name == "__data_len" {
		members = s.Members // a string or slice (FORMAT.md)
	}
	all := reader.Fields(&btf.Struct{Size: in.size, Members: members})
	if len(all) != 1 {
		return Field{Name: name, Err: fmt.Errorf("a value of type %v is unknown", t)}
	}
	all[0].Name = name
	return b.field(&all[0], in, path, depth)
}

// composite describes structs, arrays and pointers in a region.
func (b *blockBinder) composite(f *Field, t *reader.Field, in region, path string, depth int) {
	at := in
	at.base, at.size = in.base+int(t.Offset), t.Size
	switch typ := btf.UnderlyingType(t.Type).(type) {
	case *btf.Struct:
		parts := reader.Fields(typ)
		f.Source, f.Parts = FromStruct, b.members(parts, at, path+".", depth+1)
	case *btf.Array:
		b.array(f, typ, at, path, depth)
	case *btf.Pointer:
		if t.Size != 8 {
			f.Source, f.Count = FromRaw, int(t.Size)
			return
		}
		f.Source, f.Size = FromRecord, 8
		if in.fixed && !b.inArray && b.follow != nil {
			if exact, ok := b.follow(path); exact || ok && len(b.layout.Indirects) < maxFollowed {
				b.dereference(f, typ.Target, path, depth)
			}
		}
	default:
		if f.Source, f.Count = FromRaw, int(t.Size); t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8 {
			f.Source, f.Size = FromRecord, uint8(t.Size)
		}
	}
}

func (b *blockBinder) array(f *Field, typ *btf.Array, at region, path string, depth int) {
	f.Source, f.Count = FromRaw, int(at.size)
	if i, ok := btf.UnderlyingType(typ.Type).(*btf.Int); ok && i.Size == 1 {
		switch {
		case i.Name == "unsigned char":
			f.Kind = reader.Bytes
			return
		case i.Name == "char":
			f.Source, f.Kind = FromChars, reader.String
			return
		}
	}
	size, err := btf.Sizeof(typ.Type)
	if at.size == 0 {
		f.Source, f.Stride, f.Count, f.Parts = FromArray, 1, 0, []Field{{Source: FromRaw, Read: f.Read, Offset: f.Offset}}
		return
	}
	if err != nil || size <= 0 || typ.Nelems == 0 || uint64(size)*uint64(typ.Nelems) != uint64(at.size) {
		return
	}
	outer := b.inArray
	b.inArray = true
	defer func() { b.inArray = outer }()
	f.Source, f.Stride, f.Count = FromArray, size, int(typ.Nelems)
	at.size = uint32(size)
	b.elements(f, typ.Type, at, path, depth)
}

// elements describes the f.Count elements that begin with a region.
func (b *blockBinder) elements(f *Field, t btf.Type, first region, path string, depth int) {
	start := len(b.layout.Strings)
	f.Parts = []Field{b.element("", t, first, path, depth+1)}
	each := b.layout.Strings[start:]
	f.Strings, f.Whole = len(each), f.Count
	if len(each) == 0 {
		return
	}
	for i := 1; i < f.Count; i++ {
		if b.layout.Reads()+len(each) > record.MaxBlockReads {
			f.Whole = i
			return
		}
		for _, s := range each {
			s.Pointer += uint32(i * f.Stride)
			s.Length += uint32(i * f.Stride)
			b.layout.Strings = append(b.layout.Strings, s)
		}
	}
}

// counted describes a pointer with a length: a string, bytes or a slice.
func (b *blockBinder) counted(f *Field, t *reader.Field, in region, path string, depth int) {
	rel := uint32(in.base - b.layout.BlockOffset())
	read := record.String{Sized: true, Pointer: rel + t.Offset, Length: rel + t.LenOffset, Region: in.read}
	if t.Kind == reader.Other {
		typ, ok := btf.UnderlyingType(t.Type).(*btf.Pointer)
		if !ok {
			f.Err = fmt.Errorf("a value of type %v has a length", t.Type)
			return
		}
		size, err := btf.Sizeof(typ.Target)
		if err != nil || size <= 0 || size > maxBlock || b.fields >= maxFields || depth >= maxNesting {
			f.Source, f.Size = FromRecord, 8 // its address
			return
		}
		f.Stride = size
		before := b.unread
		b.unread = false
		f.Parts = []Field{b.element("", typ.Target, region{size: uint32(size)}, path, depth+1)}
		needsCopy := b.unread
		b.unread = before
		if needsCopy && in.fixed && !b.inArray {
			b.countedElements(f, typ.Target, read, path, depth)
			return
		}
		read.Elem = uint32(size)
	}
	switch {
	case !in.fixed:
		b.unread = true
		f.Err = errTooDeep
	case b.layout.Reads() == record.MaxBlockReads:
		f.Err = ErrTooManyParts
	default:
		f.Source, f.Index = FromString, len(b.layout.Strings)
		if t.Kind == reader.Other {
			f.Source = FromSlice
		}
		b.layout.Strings = append(b.layout.Strings, read)
	}
}

// countedElements copies the first elements of a slice to the fixed part, from which
// their strings are read.
func (b *blockBinder) countedElements(f *Field, t btf.Type, read record.String, path string, depth int) {
	n := min(maxElements, maxBlock/8/f.Stride)
	if n == 0 {
		f.Err = errTooDeep
		return
	}
	at, err := b.reserve(record.Indirect{Pointer: read.Pointer, Length: read.Length, Elem: uint32(f.Stride), Size: uint32(n * f.Stride)})
	if err != nil {
		f.Err = err
		return
	}
	b.inArray = true
	f.Source, f.Offset, f.Read, f.Counted = FromCounted, at.base, at.read, read.Region
	f.Length, f.Count = b.layout.BlockOffset()+int(read.Length), n
	at.size = uint32(f.Stride)
	b.elements(f, t, at, path, depth)
	b.inArray = false
}

// dereference makes the program read what a pointer leads to.
func (b *blockBinder) dereference(f *Field, target btf.Type, path string, depth int) {
	size, err := btf.Sizeof(target)
	if err != nil || size <= 0 {
		return // void: the address is the value
	}
	at, err := b.reserve(record.Indirect{Pointer: uint32(f.Offset - b.layout.BlockOffset()), Size: uint32(size)})
	if err != nil {
		f.Source, f.Err = FromNowhere, err
		return
	}
	f.Source = FromPointer
	f.Parts = []Field{b.element(f.Name, target, at, path, depth+1)}
}

// reserve makes room in the fixed part of records for what a pointer leads to.
func (b *blockBinder) reserve(in record.Indirect) (region, error) {
	if b.layout.Reads() == record.MaxBlockReads {
		return region{}, ErrTooManyParts
	}
	end := b.layout.FixedSize() - b.layout.BlockOffset()
	if uint64(end)+uint64(in.Size) > maxBlock {
		return region{}, fmt.Errorf("it points to %d bytes, and an event holds at most %d", in.Size, maxBlock)
	}
	offset := b.layout.AddIndirect(in)
	return region{base: b.layout.BlockOffset() + end, size: in.Size, read: b.layout.RegionRead(offset), fixed: true}, nil
}
