// Package held says where values are in what an interface of Go holds, for each type that it may
// hold.
package held

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Parts of what an interface holds.
const (
	Text   = iota // a string
	More          // another string
	Cause         // an interface that an error wraps
	Number        // an integer
	Parts
)

// Type is a type that an interface may hold.
type Type struct {
	Word uint64 // the first word of the interface
	// At is where the parts are, from where the second word leads: one more than the distance, 0 for a
	// part that the type does not have.
	At [Parts]uint16
}

// Whole stands for all that the second word leads to.
const Whole = -1

// MaxAt is the largest distance of a part.
const MaxAt = 1<<16 - 2

// MaxTypes bounds the types in which something is looked for.
const MaxTypes = 512

// Packed returns At as one number.
func (t *Type) Packed() (all uint64) {
	for i, at := range t.At {
		all |= uint64(at) << (16 * i)
	}
	return all
}

// Types are the types that have a part, at most MaxTypes. Equal ones are equal by ==.
type Types string

const typeSize = 8 + 2*Parts

// New returns types.
func New(all []Type) Types {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Type) int { return cmp.Compare(a.Word, b.Word) })
	var out []byte
	for _, t := range all[:min(len(all), MaxTypes)] {
		out = binary.LittleEndian.AppendUint64(out, t.Word)
		for _, at := range t.At {
			out = binary.LittleEndian.AppendUint16(out, at)
		}
	}
	return Types(out)
}

// Len returns how many types there are.
func (t Types) Len() int { return len(t) / typeSize }

// At returns type i, in the order of their words.
func (t Types) At(i int) (out Type) {
	b := []byte(t[i*typeSize : (i+1)*typeSize])
	out.Word = binary.LittleEndian.Uint64(b)
	for i := range out.At {
		out.At[i] = binary.LittleEndian.Uint16(b[8+2*i:])
	}
	return out
}

// Has reports whether the type with a word is one of the types and has a part.
func (t Types) Has(word uint64, part int) bool {
	low, high := 0, t.Len()
	for low < high {
		mid := (low + high) / 2
		switch found := t.At(mid); {
		case found.Word == word:
			return part == Whole || found.At[part] > 0
		case found.Word < word:
			low = mid + 1
		default:
			high = mid
		}
	}
	return false
}

// Any reports whether some type has a part.
func (t Types) Any(part int) bool {
	for i := range t.Len() {
		if found := t.At(i); found.At[part] > 0 {
			return true
		}
	}
	return false
}

// Place is where a variable is that is in what an interface holds. Interface is the variable with the
// interface's first word, Data the one with the second. The variable is Plus bytes behind the part.
type Place struct {
	Interface, Data string
	Types           Types
	Part            int
	Plus            int64
}
