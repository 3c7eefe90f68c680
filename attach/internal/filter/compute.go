package filter

import (
	"math/bits"

	"github.com/go-usdt/usdt/internal/grammar"
)

// Arithmetic is what a Step does.
type Arithmetic uint8

const (
	Load Arithmetic = iota // pushes Value
	Push                   // pushes Bits
	Add                    // Add and the others replace the last two values by a result
	Subtract
	Multiply
	Divide
	Remainder
	Mask
	ShiftLeft
	ShiftRight
)

var arithmetic = map[string]Arithmetic{
	"+": Add, "-": Subtract, "*": Multiply, "/": Divide, "%": Remainder, "&": Mask, "<<": ShiftLeft, ">>": ShiftRight,
}

// Step is a step of a computation with integers of 64 bits, which wrap around.
type Step struct {
	Op     Arithmetic
	Signed bool // how Divide, Remainder and ShiftRight take their operands
	Value  Value
	Bits   uint64
}

// Compute returns the result of steps, or the step that failed, because its value could
// not be read or because it divides by zero; -1 if none has. number returns the value of
// a Load, extended to 64 bits by its sign, and whether it could be read.
//
// Quotients are rounded towards zero, and a remainder has the sign of what is divided. A
// shift by 64 or more leaves nothing but the sign.
func Compute(steps []Step, number func(Value) (bits uint64, ok bool)) (result uint64, failed int) {
	var stack [grammar.MaxPending + 1]uint64
	n := 0
	for i := range steps {
		s := &steps[i]
		ok := true
		switch s.Op {
		case Load:
			stack[n], ok = number(s.Value)
			n++
		case Push:
			stack[n] = s.Bits
			n++
		default:
			n--
			stack[n-1], ok = s.apply(stack[n-1], stack[n])
		}
		if !ok {
			return 0, i
		}
	}
	return stack[0], -1
}

func (s *Step) apply(a, b uint64) (result uint64, ok bool) {
	switch s.Op {
	case Add:
		return a + b, true
	case Subtract:
		return a - b, true
	case Multiply:
		return a * b, true
	case Mask:
		return a & b, true
	case ShiftLeft:
		return a << b, true
	case ShiftRight:
		if s.Signed {
			return uint64(int64(a) >> min(b, bits.UintSize-1)), true
		}
		return a >> b, true
	}
	switch divide := s.Op == Divide; {
	case b == 0:
		return 0, false
	case divide && s.Signed:
		return uint64(int64(a) / int64(b)), true
	case divide:
		return a / b, true
	case s.Signed:
		return uint64(int64(a) % int64(b)), true
	}
	return a % b, true
}
