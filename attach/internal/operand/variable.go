package operand

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/reader"
)

// OfVariable returns how the value of a variable is read at the site of p, whose uprobe is at an
// offset of the file.
func OfVariable(v *reader.Variable, regs *Registers, p *reader.Probe, offset uint64) (op Operand, err error) {
	switch {
	case v.Err != nil:
		return op, v.Err
	case v.Count > 0:
		x := *v
		x.Count, x.Kind, x.Size = 0, reader.Uint, 8
		if p.Class == elf.ELFCLASS32 {
			x.Size = 4
		}
		if op, err = OfVariable(&x, regs, p, offset); err != nil {
			return op, err
		}
		return op.address()
	case v.Size != 1 && v.Size != 2 && v.Size != 4 && v.Size != 8 || v.Kind == reader.Float && v.Size < 4:
		return op, fmt.Errorf("a value of %d bytes is no number that events can hold", v.Size)
	}
	op = Operand{Size: uint8(v.Size), Disp: v.Offset, Follow: v.Follow, FollowDisp: v.FollowOffset}
	if v.Follow {
		op.Pointer = 8
		if p.Class == elf.ELFCLASS32 {
			op.Pointer = 4
		}
	}
	switch {
	case v.Register >= 0:
		op.HasBase = true
		if op.Base, err = regs.LocateDWARF(v.Register); err != nil {
			return op, fmt.Errorf("it is in a vector register, or another that a BPF program cannot read (%d in DWARF)", v.Register)
		}
		op.Base.Shift = uint8(v.Bit)
	case v.Memory:
		// An address in the file lies as far from the site in memory.
		op.HasBase, op.Base = true, Location{Off: regs.IP, Size: 8}
		op.Disp -= int64(p.Location+p.Delta) + int64(offset-p.Offset)
	}
	switch {
	case v.Memory:
		op.Kind = Memory
	case v.Register < 0:
		op.Kind, op.Value, op.Disp = Const, uint64(v.Offset), 0
	case v.Offset == 0:
		op.Kind = Register
	default:
		op.Kind = Address
	}
	if err != nil {
		return op, err
	}
	return op.Field(v.Bits, v.BitsAbove, v.Kind == reader.Int).Relative(v, regs, p, offset)
}

// Relative returns the operand for a variable whose value is an address in the file, if it is Relative.
func (op Operand) Relative(v *reader.Variable, regs *Registers, p *reader.Probe, offset uint64) (Operand, error) {
	if !v.Relative {
		return op, nil
	}
	if p.Kind.IsReturn() && !p.AtRET {
		return op, errors.New("where the program is loaded is not known at the return from a function")
	}
	op.Site, op.IP = p.Location+p.Delta+(offset-p.Offset), Location{Off: regs.IP, Size: 8}
	return op, nil
}

// Part returns how a part of the value of op is read, whose place v has relative to register 0: the
// value itself, or memory at the address that it is.
func (op Operand) Part(v *reader.Variable, c elf.Class) (Operand, error) {
	word := uint8(8)
	if c == elf.ELFCLASS32 {
		word = 4
	}
	switch {
	case v.Err != nil:
		return op, v.Err
	case v.Count > 0:
		x := *v
		x.Count, x.Kind, x.Size = 0, reader.Uint, int(word)
		op, err := op.Part(&x, c)
		if err != nil {
			return op, err
		}
		return op.address()
	case v.Size != 1 && v.Size != 2 && v.Size != 4 && v.Size != 8 || v.Kind == reader.Float && v.Size < 4:
		return op, fmt.Errorf("a value of %d bytes is no number that events can hold", v.Size)
	case !v.Memory && v.Size > int(op.Size):
		return op, fmt.Errorf("the argument has %d bytes, and its type %d", op.Size, v.Size)
	case !v.Memory:
		op.Size = uint8(v.Size)
		if op.Kind == Const && op.Size < 8 {
			op.Value &= 1<<(8*op.Size) - 1
		}
		return op.Field(v.Bits, v.BitsAbove, v.Kind == reader.Int), nil
	case op.Size != word:
		return op, fmt.Errorf("the argument has %d bytes, and an address %d", op.Size, word)
	case op.Follow || op.Kind == Memory && v.Follow:
		return op, fmt.Errorf("it lies behind two pointers, of which one is followed")
	}
	op, err := op.Followed(v.Offset)
	if err != nil {
		return op, err
	}
	op.Size, op.Pointer = uint8(v.Size), 0
	if op.Follow || v.Follow {
		op.Pointer = word
	}
	if v.Follow {
		op.Follow, op.FollowDisp = true, v.FollowOffset
	}
	return op.Field(v.Bits, v.BitsAbove, v.Kind == reader.Int), nil
}

// address returns the operand whose value is the address of op's.
func (op Operand) address() (Operand, error) {
	switch {
	case op.Follow:
		op.Size = cmp.Or(op.Pointer, op.Size)
		op.Follow, op.Plus, op.FollowDisp, op.Pointer = false, op.FollowDisp, 0, 0
	case op.Kind == Memory:
		op.Kind = Address
	default:
		return op, errors.New("an array in registers is not read")
	}
	return op, nil
}
