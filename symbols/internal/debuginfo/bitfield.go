package debuginfo

import "errors"

// bitField is where a member has its bits in the bytes that are read for it. The size is 0 for other members.
type bitField struct {
	size, above uint8
	err         error
}

var errStraddles = errors.New("its bits are in two words of its type, in a packed structure")

// bitFieldOf returns where the bits of a member are: in a word of as many bytes as its type has, at an offset
// of the structure. at is the offset of the member's entry.
func bitFieldOf(e *entry, at, bits, size uint64) (f bitField, offset uint64) {
	first := 8*at + e.get(attrDataBitOffset).num
	if old := e.get(attrBitOffset); old.form != 0 { // DWARF 2 and 3 count from the other end of the word
		word := size
		if own := e.get(attrByteSize); own.form != 0 {
			word = own.num
		}
		first = 8*(at+word) - old.num - bits
	}
	if size == 0 || size > 8 || bits == 0 || bits > 8*size {
		return bitField{err: errNoNumber}, at
	}
	offset = first / (8 * size) * size
	above := first - 8*offset
	if above+bits > 8*size {
		return bitField{err: errStraddles}, at
	}
	return bitField{size: uint8(bits), above: uint8(above)}, offset
}
