package operand

import "github.com/cilium/ebpf/asm"

// Load returns the instructions that put the value of an operand that is neither in memory nor the
// task's into dst. context is the register that points to the program's context. They also change
// R4.
func (op *Operand) Load(dst, context asm.Register) asm.Instructions {
	switch op.Kind {
	case Const:
		return asm.Instructions{asm.LoadImm(dst, int64(op.Value), asm.DWord)}
	case Register:
		ins := op.Base.Load(dst, context)
		if op.HasPair {
			ins = append(append(ins, op.Pair.Load(asm.R4, context)...),
				asm.LSh.Imm(dst, 32), asm.RSh.Imm(dst, 32),
				asm.LSh.Imm(asm.R4, 32),
				asm.Or.Reg(dst, asm.R4),
			)
		}
		return append(ins, op.LoadField(dst)...)
	case Address:
		return op.LoadAddress(dst, context)
	}
	return nil
}

// LoadField returns the instructions that leave in dst only the bits of the value, extended by their sign.
func (op *Operand) LoadField(dst asm.Register) asm.Instructions {
	switch left, right := 64-int32(op.BitsAbove)-int32(op.Bits), 64-int32(op.Bits); {
	case op.Bits == 0:
		return nil
	case op.BitsSigned:
		return asm.Instructions{asm.LSh.Imm(dst, left), asm.ArSh.Imm(dst, right)}
	default:
		return asm.Instructions{asm.LSh.Imm(dst, left), asm.RSh.Imm(dst, right)}
	}
}

// InFile returns the instructions that make an address in dst, which is not 0, the one that it has in the
// file, see Site.
// They also change R4.
func (op *Operand) InFile(dst, context asm.Register) asm.Instructions {
	if op.Site == 0 {
		return nil
	}
	ins := asm.Instructions{asm.LoadImm(asm.R4, int64(op.Site), asm.DWord), asm.Add.Reg(dst, asm.R4)}
	return append(append(ins, op.IP.Load(asm.R4, context)...), asm.Sub.Reg(dst, asm.R4))
}

// LoadAddress returns the instructions that put the address of an operand into dst. They also
// change R4.
func (op *Operand) LoadAddress(dst, context asm.Register) asm.Instructions {
	ins := asm.Instructions{asm.LoadImm(dst, op.Disp, asm.DWord)}
	if op.HasBase {
		ins = append(append(ins, op.Base.Load(asm.R4, context)...), asm.Add.Reg(dst, asm.R4))
	}
	if op.HasIndex {
		ins = append(ins, op.Index.Load(asm.R4, context)...)
		if op.Extend == 32 {
			ins = append(ins, Extend(asm.R4, 4, op.ExtendSigned)...)
		}
		if op.Scale != 0 {
			ins = append(ins, asm.LSh.Imm(asm.R4, int32(op.Scale)))
		}
		ins = append(ins, asm.Add.Reg(dst, asm.R4))
	}
	if op.Wrap32 {
		ins = append(ins, Extend(dst, 4, false)...)
	}
	return ins
}

// Extend returns the instructions that make the low bytes of a register, 1, 2, 4 or 8, its value.
func Extend(r asm.Register, size uint8, signed bool) asm.Instructions {
	switch shift := int32(64 - 8*int(size)); {
	case shift == 0:
		return nil
	case signed:
		return asm.Instructions{asm.LSh.Imm(r, shift), asm.ArSh.Imm(r, shift)}
	default:
		return asm.Instructions{asm.LSh.Imm(r, shift), asm.RSh.Imm(r, shift)}
	}
}

// Load returns the instructions that put what is in a register of the traced program into dst.
func (l Location) Load(dst, context asm.Register) asm.Instructions {
	if l.Zero {
		return asm.Instructions{asm.Mov.Imm(dst, 0)}
	}
	if l.Record {
		return asm.Instructions{asm.Mov.Reg(dst, context)}
	}
	ins := asm.Instructions{asm.LoadMem(dst, context, l.Off, asm.DWord)}
	switch {
	case l.Slot:
		ins[0] = asm.LoadMem(dst, asm.R10, SlotAt(int(l.Off)), asm.DWord)
	case l.Saved:
		ins[0] = asm.LoadMem(dst, asm.R10, SavedAt+l.Off, asm.DWord)
	case l.Field:
		ins[0] = asm.LoadMem(dst, context, l.Off, map[uint8]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}[l.Size])
	}
	if l.Shift != 0 {
		ins = append(ins, asm.RSh.Imm(dst, int32(l.Shift)))
	}
	return ins
}
