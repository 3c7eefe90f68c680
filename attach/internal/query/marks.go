package query

import "encoding/binary"

// Marks say why a part of a group's key is missing. A missing part is zero. The
// marks follow the parts, one byte for each.
const (
	MarkFault    = 1 + iota // event.ErrFault
	MarkNil                 // the part lies behind a nil pointer
	MarkNegative            // its length is less than 0
	MarkDivision            // it is divided by zero
	MarkSign                // it is there, and has the other sign than the part: see Input.Exceeds
	MarkOther               // the interface that it is in holds another type
	MarkReason              // the first of a site's reasons, by their index

	MarksInWord = 8
	MaxMark     = 254 // the last of the reasons; all ones are in no key of an event
)

// MarksSize returns the number of bytes that the marks of parts take, in whole
// words.
func MarksSize(parts int) int { return 8 * ((parts + MarksInWord - 1) / MarksInWord) }

// MarkIn returns the mark of part i in a key of that many parts.
func MarkIn(key []byte, parts, i int) uint8 {
	marks := key[len(key)-MarksSize(parts):]
	word := binary.NativeEndian.Uint64(marks[i/MarksInWord*8:])
	return uint8(word >> (i % MarksInWord * 8))
}
