package debuginfo

import "slices"

// part is a number in a value.
type part struct {
	off, size uint64
	float     bool
}

// maxParts is the number of parts of a value that is passed in registers.
const maxParts = 32

// parts appends the numbers that a type consists of, a union's side by side. ok is false if
// there are too many, or a type is unknown. whole is false if there is an array or a union.
func (v *variables) parts(t typ, off uint64, nested int, all *[]part, whole *bool) (ok bool) {
	if t.node == nil || nested > 8 || len(*all) > maxParts {
		return false
	}
	switch t.tag {
	case tagBaseType:
		p := part{off, t.size(), false}
		switch t.get(attrEncoding).num {
		case Float:
			p.float = true
		case 0x03: // DW_ATE_complex_float
			p.float, p.size = true, p.size/2
			*all = append(*all, p)
			p.off += p.size
		}
		*all = append(*all, p)
	case tagEnumerationType, tagPointerType, tagReferenceType, tagRvalueReference, tagSubroutineType:
		*all = append(*all, part{off, t.size(), false})
	case tagPtrToMember:
		size := t.size()
		for ; size > 8; size -= 8 { // of a method: two words
			*all = append(*all, part{off, 8, false})
			off += 8
		}
		*all = append(*all, part{off, size, false})
	case tagArrayType:
		n, elem := v.elements(t)
		*whole = *whole && n <= 1
		size := elem.bytes()
		for i := range n {
			if i > maxParts || !v.parts(elem, off+i*size, nested+1, all, whole) {
				return false
			}
		}
	case tagStructureType, tagClassType, tagUnionType:
		ok, inner := true, false
		t.each(v.unit.info, func(e *entry) bool {
			if e.depth == 0 {
				return e.off == t.off
			}
			if e.depth == 1 && e.tag == tagVariantPart {
				inner = true
			}
			if e.depth != 1 || e.tag != tagMember && e.tag != tagInheritance || e.get(attrExternal).num != 0 || e.get(attrDeclaration).num != 0 {
				return true
			}
			n := &node{info: t.info, unit: t.unit, entry: entry{off: e.off, tag: e.tag, attrs: append([]attribute(nil), e.attrs...)}}
			at := e.get(attrMemberLocation).num
			if bit := e.get(attrDataBitOffset); bit.form != 0 {
				at = bit.num / 8
			}
			ok = v.parts(v.typeOf(n), off+at, nested+1, all, whole)
			return ok
		})
		if t.tag == tagUnionType || inner {
			*whole = false
		}
		return ok && !inner
	default:
		return false
	}
	return len(*all) <= maxParts
}

// realign returns pieces with the padding that lies between the parts of a value: Go's compiler
// leaves it out.
func (v *variables) realign(pieces []piece, t typ) []piece {
	var all []part
	whole := true
	if len(pieces) < 2 || !v.parts(t, 0, 0, &all, &whole) || len(all) != len(pieces) {
		return pieces
	}
	out := slices.Clone(pieces)
	for i := range all {
		if pieces[i].size != all[i].size {
			return pieces
		}
		if i+1 < len(all) && all[i+1].off > all[i].off {
			out[i].size = all[i+1].off - all[i].off
		}
	}
	return out
}

// elements returns the number of elements of an array, and their type.
func (v *variables) elements(t typ) (n uint64, elem typ) {
	n = 1
	found := false
	t.each(v.unit.info, func(e *entry) bool {
		if e.depth == 1 && e.tag == tagSubrangeType {
			found = true
			switch count, upper := e.get(attrCount), e.get(attrUpperBound); {
			case count.form != 0 && count.str == nil:
				n = product(n, count.num)
			case upper.form != 0 && upper.str == nil:
				n = product(n, upper.num+1)
			default:
				n = 0
			}
		}
		return true
	})
	if !found {
		n = 0
	}
	return n, v.typeOf(t.node)
}

func product(a, b uint64) uint64 {
	if b != 0 && a > 1<<32/b {
		return 1 << 32
	}
	return a * b
}

// bytes returns the size of a value.
func (t *typ) bytes() uint64 {
	if t.node == nil {
		return 0
	}
	return t.size()
}

// alignment returns that of the parts of a value.
func alignment(all []part) int64 {
	align := uint64(1)
	for _, p := range all {
		align = max(align, min(p.size, 8))
	}
	return int64(align)
}
