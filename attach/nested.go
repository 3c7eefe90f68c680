package attach

import (
	"fmt"
	"path"
	"strings"

	"github.com/cilium/ebpf/btf"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Limits on what is read of one event.
const (
	// maxBlock bytes of argument block, and of what its pointers lead to, are read.
	maxBlock = notes.MaxBlockSize
	// maxFields of a probe are told apart, and maxNesting of structs, arrays and
	// pointers; what is beyond is bytes.
	maxFields  = notes.MaxFields
	maxNesting = notes.MaxNesting
	// maxFollowed pointers are followed without being named in full.
	maxFollowed = 12
	// maxElements of a slice are read if they have strings of their own: each
	// of these takes a read.
	maxElements = 8
)

// region is a part of a record in which values lie.
type region struct {
	base int    // in the record, or in the bytes of a slice
	size uint32 // bytes
	read int    // of what lies here: a bit of record.Layout.Failed
	// fixed says that programs know the place of what lies here, and can follow
	// what points from it.
	fixed bool
}

// typedBinder finds out where the values of typed arguments will be.
type typedBinder struct {
	sc       *schema
	provider string
	name     string
	follow   []string
	used     *optionUse // nil if that is not asked
	fields   int        // that have been told apart
	inArray  bool       // what lies here is there several times, and is not followed
	unread   bool       // a string has no fixed place
}

func (b *typedBinder) blockRegion(size uint32) region {
	return region{base: b.sc.sig.BlockOffset(), size: size, read: b.sc.sig.BlockRead(), fixed: true}
}

// field is for an argument or a member of a struct in a region. where is the
// path to it.
func (b *typedBinder) field(t *reader.Field, in region, where string, depth int) field {
	f := field{name: t.Name, kind: t.Kind, meaning: t.Meaning, offset: in.base + int(t.Offset), read: in.read}
	inside := func(off, size uint32) bool { return off <= in.size && size <= in.size-off }
	b.fields++
	switch {
	case !inside(t.Offset, t.Size) || t.Size == 0:
		f.err = fmt.Errorf("field at byte %d with %d bytes is not within the %d bytes around it", t.Offset, t.Size, in.size)
	case t.LenOffset != 0 || t.Kind == reader.String || t.Kind == reader.Bytes:
		if t.Size != 8 || !inside(t.LenOffset, 8) {
			f.err = fmt.Errorf("pointer of %d bytes, or its length, is not within the argument block", t.Size)
			break
		}
		b.counted(&f, t, in, where, depth)
	case t.Kind == reader.Other && t.Meaning == reader.Time:
		f.source, f.kind, f.size = fromGoTime, reader.Int, 8
	case t.Kind == reader.Other && t.Meaning == reader.Address && b.sc.addrs:
		f.source, f.kind = fromGoAddr, reader.Bytes
	case t.Kind == reader.Other && b.fields < maxFields && depth < maxNesting:
		b.composite(&f, t, in, where, depth)
	case t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8:
		f.source, f.size = fromRecord, uint8(t.Size)
	default:
		f.source, f.count = fromRaw, int(t.Size)
	}
	return f
}

// element is for a value that is no member of a struct: an element, or what a
// pointer leads to.
func (b *typedBinder) element(name string, t btf.Type, in region, where string, depth int) field {
	members := []btf.Member{{Name: "element", Type: t}}
	if s, ok := t.(*btf.Struct); ok && s.Name == "" && len(s.Members) == 2 && s.Members[0].Name == "data" && s.Members[1].Name == "__data_len" {
		members = s.Members // a string or slice (FORMAT.md)
	}
	all := reader.Fields(&btf.Struct{Size: in.size, Members: members})
	if len(all) != 1 {
		return field{name: name, err: fmt.Errorf("a value of type %v is unknown", t)}
	}
	all[0].Name = name
	return b.field(&all[0], in, where, depth)
}

// composite is for structs, arrays and pointers that stand in a region.
func (b *typedBinder) composite(f *field, t *reader.Field, in region, where string, depth int) {
	at := in
	at.base, at.size = in.base+int(t.Offset), t.Size
	switch typ := btf.UnderlyingType(t.Type).(type) {
	case *btf.Struct:
		parts := reader.Fields(typ)
		f.source = fromStruct
		for i := range parts {
			f.parts = append(f.parts, b.field(&parts[i], at, where+"."+parts[i].Name, depth+1))
		}
	case *btf.Array:
		b.array(f, typ, at, where, depth)
	case *btf.Pointer:
		if t.Size != 8 {
			f.source, f.count = fromRaw, int(t.Size)
			return
		}
		f.source, f.size = fromRecord, 8
		if in.fixed && !b.inArray {
			f.target, f.where = typ.Target, where
			if exact, ok := b.wants(where); exact || ok && len(b.sc.sig.Indirects) < maxFollowed {
				b.dereference(f, depth)
			}
		}
	default:
		if f.source, f.count = fromRaw, int(t.Size); t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8 {
			f.source, f.size = fromRecord, uint8(t.Size)
		}
	}
}

func (b *typedBinder) array(f *field, typ *btf.Array, at region, where string, depth int) {
	f.source, f.count = fromRaw, int(at.size)
	if i, ok := btf.UnderlyingType(typ.Type).(*btf.Int); ok && i.Size == 1 {
		switch {
		case i.Name == "unsigned char":
			f.kind = reader.Bytes
			return
		case i.Name == "char":
			f.source, f.kind = fromChars, reader.String
			return
		}
	}
	size, err := btf.Sizeof(typ.Type)
	if err != nil || size <= 0 || typ.Nelems == 0 || uint64(size)*uint64(typ.Nelems) != uint64(at.size) {
		return
	}
	outer := b.inArray
	b.inArray = true
	defer func() { b.inArray = outer }()
	f.source, f.stride, f.count = fromArray, size, int(typ.Nelems)
	at.size = uint32(size)
	b.elements(f, typ.Type, at, where, depth)
}

// elements describes the f.count elements from the beginning of a region on.
func (b *typedBinder) elements(f *field, t btf.Type, first region, where string, depth int) {
	sig := b.sc.sig
	start := len(sig.Strings)
	f.parts = []field{b.element("", t, first, where, depth+1)}
	each := sig.Strings[start:]
	f.texts, f.whole = len(each), f.count
	if len(each) == 0 {
		return
	}
	for i := 1; i < f.count; i++ {
		if sig.Reads()+len(each) > record.MaxBlockReads {
			f.whole = i
			return
		}
		for _, s := range each {
			s.Pointer += uint32(i * f.stride)
			s.Length += uint32(i * f.stride)
			sig.Strings = append(sig.Strings, s)
		}
	}
}

// counted is for a pointer with a length: text, bytes or a slice.
func (b *typedBinder) counted(f *field, t *reader.Field, in region, where string, depth int) {
	sig := b.sc.sig
	rel := uint32(in.base - sig.BlockOffset())
	read := record.String{Sized: true, Pointer: rel + t.Offset, Length: rel + t.LenOffset, Region: in.read}
	if t.Kind == reader.Other {
		typ, ok := btf.UnderlyingType(t.Type).(*btf.Pointer)
		if !ok {
			f.err = fmt.Errorf("a value of type %v has a length", t.Type)
			return
		}
		size, err := btf.Sizeof(typ.Target)
		if err != nil || size <= 0 || size > maxBlock || b.fields >= maxFields || depth >= maxNesting {
			f.source, f.size = fromRecord, 8 // its address
			return
		}
		f.stride = size
		before := b.unread
		b.unread = false
		f.parts = []field{b.element("", typ.Target, region{size: uint32(size)}, where, depth+1)}
		needsPlace := b.unread
		b.unread = before
		if needsPlace && in.fixed && !b.inArray {
			b.countedElements(f, typ.Target, read, where, depth)
			return
		}
		read.Elem = uint32(size)
	}
	switch {
	case !in.fixed:
		b.unread = true
		f.err = errTooDeep
	case sig.Reads() == record.MaxBlockReads:
		f.err = errTooManyParts
	default:
		f.source, f.index = fromString, len(sig.Strings)
		if t.Kind == reader.Other {
			f.source = fromSlice
		}
		sig.Strings = append(sig.Strings, read)
	}
}

// countedElements copies the first elements of a slice to the fixed part, from
// where their strings are read.
func (b *typedBinder) countedElements(f *field, t btf.Type, read record.String, where string, depth int) {
	n := min(maxElements, maxBlock/8/f.stride)
	if n == 0 {
		f.err = errTooDeep
		return
	}
	at, err := b.place(record.Indirect{Pointer: read.Pointer, Length: read.Length, Elem: uint32(f.stride), Size: uint32(n * f.stride)})
	if err != nil {
		f.err = err
		return
	}
	b.inArray = true
	f.source, f.offset, f.read, f.counted = fromCounted, at.base, at.read, read.Region
	f.length, f.count = b.sc.sig.BlockOffset()+int(read.Length), n
	at.size = uint32(f.stride)
	b.elements(f, t, at, where, depth)
	b.inArray = false
}

// dereference has the program read what a pointer leads to.
func (b *typedBinder) dereference(f *field, depth int) {
	size, err := btf.Sizeof(f.target)
	if err != nil || size <= 0 {
		return // void: an address is all there is
	}
	at, err := b.place(record.Indirect{Pointer: uint32(f.offset - b.sc.sig.BlockOffset()), Size: uint32(size)})
	if err != nil {
		f.source, f.err = fromNowhere, err
		return
	}
	f.source = fromPointer
	f.parts = []field{b.element(f.name, f.target, at, f.where, depth+1)}
}

// place makes room for memory behind a pointer in the fixed part of records.
func (b *typedBinder) place(in record.Indirect) (region, error) {
	sig := b.sc.sig
	if sig.Reads() == record.MaxBlockReads {
		return region{}, errTooManyParts
	}
	end := sig.FixedSize() - sig.BlockOffset()
	if uint64(end)+uint64(in.Size) > maxBlock {
		return region{}, fmt.Errorf("it points to %d bytes, and at most %d are read of an event", in.Size, maxBlock)
	}
	offset := sig.AddIndirect(in)
	return region{base: sig.BlockOffset() + end, size: in.Size, read: sig.RegionRead(offset), fixed: true}, nil
}

// wants says whether Options.Follow names the pointer, in full or by a pattern.
func (b *typedBinder) wants(where string) (exact, ok bool) {
	for n, pattern := range b.follow {
		if i := strings.LastIndexByte(pattern, ':'); i >= 0 {
			if pattern[:i] != b.provider+":"+b.name {
				continue
			}
			pattern = pattern[i+1:]
		}
		if match, err := path.Match(slashed(pattern), slashed(where)); pattern == where || match && err == nil {
			ok = true
			if b.used != nil {
				b.used.usesFollow[n] = true
			}
		}
		if pattern == where {
			return true, true
		}
	}
	return false, ok
}

// slashed has path.Match keep '*' within a name.
func slashed(where string) string { return strings.ReplaceAll(where, ".", "/") }

// bindTyped reads the argument block.
func (b *binder) bindTyped(sc *schema, s *Site, regs *operand.Registers) {
	typ := s.Probe.Type
	rec := &typ.Record
	if len(typ.Fields) == 0 || b.bindRegisters(sc, s, regs) {
		return
	}
	base, err := regs.LocateDWARF(int(rec.BlockReg))
	switch {
	case rec.BlockReg == notes.NoBlock:
		err = errNoBlock
	case err == nil && (rec.BlockSize == 0 || rec.BlockSize > maxBlock):
		err = fmt.Errorf("an argument block of %d bytes is not between 1 and %d", rec.BlockSize, maxBlock)
	}
	if err != nil {
		for i := range typ.Fields {
			t := &typ.Fields[i]
			sc.fields = append(sc.fields, field{name: t.Name, kind: t.Kind, size: uint8(t.Size), err: err})
		}
		return
	}
	if rec.Flags&notes.IPv4Register != 0 {
		sc.addrs = true
		sc.sig.read(operand.Operand{Kind: operand.Register, Size: 8, Base: regs.Argument})
	}
	sc.sig.Block, sc.sig.blockBase, sc.sig.blockDisp = rec.BlockSize, base, rec.BlockOffset
	sc.typed = &typedBinder{sc: sc, provider: s.Probe.Provider, name: s.Probe.Name, follow: b.follow, used: b.used}
	for i := range typ.Fields {
		t := &typ.Fields[i]
		sc.fields = append(sc.fields, sc.typed.field(t, sc.typed.blockRegion(rec.BlockSize), t.Name, 0))
	}
}
