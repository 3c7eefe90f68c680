package filter

import (
	"cmp"
	"math"
)

// Operand is a value that a condition compares. The zero Operand is a value that
// cannot be read.
type Operand struct {
	known bool
	bits  uint64 // of a number, extended to 64 bits; of a Float with 64 bits
	bytes []byte
	more  bool // than bytes
}

// NumberOperand returns the bits of a number, extended to 64 bits by its sign, as an
// Operand; the bits of a floating-point number with 64 bits.
func NumberOperand(bits uint64) Operand { return Operand{known: true, bits: bits} }

// StringOperand returns a string as an Operand. more says that the string goes on; it
// must have up to MaxString+1 bytes otherwise.
func StringOperand(s []byte, more bool) Operand { return Operand{known: true, bytes: s, more: more} }

// Holds evaluates the condition as programs in the kernel do, for events from
// other sources. operand returns what a Value of the condition stands for.
func (c *Condition) Holds(operand func(Value) Operand) bool {
	switch c.Op {
	case And:
		return c.Left.Holds(operand) && c.Right.Holds(operand)
	case Or:
		return c.Left.Holds(operand) || c.Right.Holds(operand)
	case Not:
		return !c.Left.Holds(operand)
	}
	var o Operand
	if c.Steps != nil {
		var failed int
		o.bits, failed = Compute(c.Steps, func(v Value) (uint64, bool) {
			o := operand(v)
			return o.bits, o.known
		})
		o.known = failed < 0
	} else {
		o = operand(c.Value)
	}
	if c.Prefix > 0 && len(o.bytes) >= c.Prefix {
		o.bytes, o.more = o.bytes[:c.Prefix], false
	}
	switch {
	case !o.known:
		return false
	case c.Op == Match || c.Op == Miss:
		return c.Pattern.matchBeginning(o.bytes, o.more) == (c.Op == Match)
	case c.Value.Kind == Float:
		f := math.Float64frombits(o.bits)
		if math.IsNaN(f) {
			return false
		}
		if c.Value.Size == 4 {
			o.bits = uint64(math.Float32bits(float32(f))) << 32
		}
		o.bits = uint64(FloatOrder(o.bits))
	}
	order := cmp.Compare(o.bits, c.Bits)
	if c.Signed {
		order = cmp.Compare(int64(o.bits), int64(c.Bits))
	}
	switch c.Op {
	case Equal:
		return order == 0
	case Differs:
		return order != 0
	case Less:
		return order < 0
	case LessEqual:
		return order <= 0
	case Greater:
		return order > 0
	}
	return order >= 0
}

// matchBeginning reports whether the pattern matches a string whose first MaxString
// bytes are compared: it does not match if that depends on later bytes. more says
// that s is not complete.
func (p Pattern) matchBeginning(s []byte, more bool) bool {
	if more || len(s) > MaxString {
		if len(p.Pieces) == 1 || p.Pieces[len(p.Pieces)-1] != "" {
			return false
		}
		s = s[:min(len(s), MaxString)]
	}
	return p.Match(string(s))
}
