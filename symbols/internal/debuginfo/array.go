package debuginfo

// maxElements is the largest number of elements of an array that is read.
const maxElements = 1 << 16

// array describes an array of numbers, or of characters.
func (v *variables) array(x *Variable, t typ) {
	n, elem := v.elements(t)
	v.list(x, n, elem)
	if x.Type == "" {
		x.Type = elem.name + " []"
	}
}

// slice describes a slice of Go or Rust, whose elements are at the address that a member has.
func (v *variables) slice(x *Variable, pointer typ, length string) {
	if pointer.node == nil || pointer.tag != tagPointerType {
		return
	}
	if v.list(x, 1, v.typeOf(pointer.node)); x.Encoding == Chars {
		x.Encoding = Array
	}
	x.Count, x.Size, x.Length = 0, pointer.size(), length
}

// list describes n elements.
func (v *variables) list(x *Variable, n uint64, elem typ) {
	size := elem.bytes()
	if n == 0 || n > maxElements || size == 0 || size > 8 || size&(size-1) != 0 {
		x.Err = errNoArray
		return
	}
	x.Encoding, x.Count, x.Stride, x.Size = Array, n, size, size
	switch elem.tag {
	case tagBaseType:
		x.Element = int(elem.get(attrEncoding).num)
		switch x.Element {
		case Boolean, Float, Signed, SignedChar, Unsigned, UnsignedChar:
		default:
			x.Err = errNoArray
		}
		if name := v.string(elem.node, elem.get(attrName)); size == 1 && name == "char" {
			x.Encoding = Chars
		}
	case tagEnumerationType:
		x.Element = Signed
		if under := v.typeOf(elem.node); under.node != nil && under.get(attrEncoding).num == Unsigned {
			x.Element = Unsigned
		}
	case tagPointerType:
		x.Element = Unsigned
	default:
		x.Err = errNoArray
	}
}
