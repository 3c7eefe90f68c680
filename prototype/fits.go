package prototype

import "github.com/go-usdt/usdt/notes"

// passing says what form an argument has in a note.
type passing struct {
	as    string // the type after "as"; usually empty
	kind  Kind   // Unsigned, Signed or Float; Bool, Pointer and Enumeration stand for their forms
	size  int    // bytes; 0 for a word of the program
	plain bool   // a char, which is signed or not
}

// wordOf returns the number of bytes of a program's addresses.
func wordOf(class notes.Class) int {
	if class == notes.ELFCLASS32 {
		return 4
	}
	return 8
}

// fits reports whether an argument of a note can be what is passed.
func (p *passing) fits(a *notes.Arg, class notes.Class) bool {
	word := wordOf(class)
	size := p.size
	if size == 0 {
		size = word
	}
	address := p.kind == Pointer || p.kind == Text || p.kind == Text16
	switch {
	case a.Err != nil:
		return true // it has no value that could get a wrong name
	case a.Kind == notes.Imm && a.Symbol != "":
		return address
	case p.kind == Integer:
		return !a.Float
	case a.Kind == notes.Imm && !a.Float:
		return p.holds(a, size, address)
	case a.Size != size || a.Float != (p.kind == Float):
		return false
	case p.plain || p.kind == Enumeration || p.kind == Float:
		return true
	}
	return a.Signed == (p.kind == Signed)
}

// holds reports whether a constant of the code can be of the type: compilers pass it
// as an int, or as what the code compares it with.
func (p *passing) holds(a *notes.Arg, size int, address bool) bool {
	switch v := int64(a.Widen(a.Value)); {
	case p.kind == Float:
		return false
	case address:
		return v == 0 // a null pointer
	case p.kind == Bool:
		return v == 0 || v == 1
	case size >= 8:
		return true
	case a.Size == size:
		return true // whatever its sign was meant to be
	default:
		limit := int64(1) << (8*size - 1)
		return v >= -limit && v < 2*limit && (v >= 0 || p.kind != Unsigned)
	}
}
