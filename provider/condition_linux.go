//go:build !usdt_nolocal

package provider

import (
	"math"
	"unsafe"

	"github.com/go-usdt/usdt/internal/rendezvous"
)

// term is a comparison of a condition.
type term struct {
	rendezvous.Range
	// argument is the number of the argument that is compared; noArgument if it takes
	// the block to tell, such as for the length of a text.
	argument uint8
}

const noArgument = 255

// compile returns a condition, and whether it fits the arguments.
func (s *signature) compile(ranges []rendezvous.Range) (compiled []term, ok bool) {
	for _, r := range ranges {
		switch {
		case r.Kind > rendezvous.Float || uint64(r.Offset)+uint64(r.Size) > uint64(s.size()),
			r.Size != 8 && r.Size != 4 && (r.Kind == rendezvous.Float || r.Size != 2 && r.Size != 1):
			return nil, false
		}
		t := term{r, noArgument}
		for n, a := range s.args {
			if 8*uint32(a.slot) == r.Offset && a.kind.info().size == int(r.Size) && a.kind != kindTime && s.addresses&(1<<a.slot) == 0 {
				t.argument = uint8(n)
			}
		}
		compiled = append(compiled, t)
	}
	if n := len(compiled); n > 0 {
		compiled[n-1].Or = false
	}
	return compiled, true
}

// holds evaluates a condition on an argument block or, if there is none yet, on pointers
// to the arguments, to which all its terms must then belong.
func holds(terms []term, block unsafe.Pointer, args []unsafe.Pointer) bool {
	for i := 0; i < len(terms); i++ {
		t := &terms[i]
		var at unsafe.Pointer
		if args != nil {
			at = args[t.argument]
		} else {
			at = unsafe.Add(block, t.Offset) // within the block, as compile has checked
		}
		if t.holds(at) {
			for terms[i].Or { // the rest of the clause
				i++
			}
		} else if !t.Or {
			return false
		}
	}
	return true
}

// holds evaluates a term on the number at an address.
func (t *term) holds(at unsafe.Pointer) bool {
	var u uint64
	switch t.Size {
	case 8:
		u = *(*uint64)(at)
	case 4:
		u = uint64(*(*uint32)(at))
	case 2:
		u = uint64(*(*uint16)(at))
	default:
		u = uint64(*(*uint8)(at))
	}
	switch t.Kind {
	case rendezvous.Signed:
		unused := 64 - 8*(t.Size&15)
		u = uint64(int64(u<<unused) >> unused)
	case rendezvous.Float:
		nan := uint64(0x7ff << 52)
		if t.Size == 4 {
			u, nan = u<<32, 0xff<<55
		}
		if u&math.MaxInt64 > nan {
			return false
		}
		u = uint64(floatOrder(u))
	}
	return (u-t.Low <= t.Span) != t.Outside
}

// floatOrder maps the bits of a number, the bits of a 32-bit one shifted left by 32, to an
// integer of the same order, as FORMAT.md has it.
func floatOrder(bits uint64) int64 {
	switch {
	case bits<<1 == 0: // -0
		return 0
	case int64(bits) < 0:
		return int64(bits ^ math.MaxInt64)
	}
	return int64(bits)
}
