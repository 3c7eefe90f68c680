package operand

import (
	"cmp"
	"errors"

	"github.com/go-usdt/usdt/reader"
)

// recorded is the record of a tracepoint, to which a program's context leads.
var recorded = Location{Record: true, Size: 8}

// OfField returns where the record of a tracepoint has a field: a number, or the address of text or elements.
// See [reader.KernelFunction].
func OfField(v *reader.Variable) (op Operand, err error) {
	op = Operand{Kind: Register, Size: uint8(v.Size), HasBase: true, Base: Location{Field: true, Off: int16(v.Offset), Size: uint8(v.Size), Shift: uint8(v.Bit)}}
	switch {
	case v.Err != nil:
		return op, v.Err
	case v.Offset < 0 || v.Offset > 1<<15-1:
		return op, errors.New("it is not in the record")
	case v.Follow:
		// The lower half of the word says where it is; the kernel writes it as the machine has it.
		return Operand{Kind: Address, Size: 8, HasBase: true, Base: recorded, Disp: v.FollowOffset, HasIndex: true, Index: Location{Field: true, Off: int16(v.Offset), Size: 2}}, nil
	case v.Memory:
		return Operand{Kind: Address, Size: 8, HasBase: true, Base: recorded, Disp: v.Offset}, nil
	case v.Offset%int64(cmp.Or(v.Size, 1)) != 0: // which the verifier does not let programs load
		return Operand{Kind: Memory, Size: uint8(v.Size), HasBase: true, Base: recorded, Disp: v.Offset}, nil
	}
	return op, nil
}
