package bind

import (
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// useRegisters makes the condition and the aggregation take arguments from registers
// instead of the argument block, which is in memory: the block's first slots are there, too
// (FORMAT.md, "The argument block"). The block of a record is not, and its note names no
// registers.
func (s *Schema) useRegisters(p *reader.Probe, regs *operand.Registers) {
	if p.Type == nil || s.Sig.Block == 0 {
		return
	}
	args := argumentRegisters{s.Sig, p.Arguments(), regs}
	for i := range s.Sig.Inputs {
		args.number(&s.Sig.Inputs[i])
	}
	agg := s.Sig.Aggregate
	if agg == nil {
		return
	}
	for i := range s.Sig.Inputs {
		args.text(&s.Sig.Inputs[i])
	}
	args.number(&agg.Value)
	for _, parts := range [][]query.Part{agg.Parts, agg.Pair} {
		for i := range parts {
			args.number(&parts[i].In)
			args.text(&parts[i].In)
			for j := range parts[i].Inputs {
				args.number(&parts[i].Inputs[j])
			}
		}
	}
}

// argumentRegisters are the registers that hold what the block's first slots do.
type argumentRegisters struct {
	sig  *query.Signature
	args []notes.Arg
	regs *operand.Registers
}

// noted reports whether the slot at an offset of the block is an argument of the note,
// size bytes in a register.
func (a *argumentRegisters) noted(offset uint32, size uint8) bool {
	i := int(offset / 8)
	return offset%8 == 0 && i < len(a.args) && a.args[i].Kind == notes.Reg && a.args[i].Err == nil && a.args[i].Size == int(size)
}

// number takes a number from its register.
func (a *argumentRegisters) number(in *query.Input) {
	if in.Source != query.InputBlock || !a.noted(in.Offset, in.Size) {
		return
	}
	if at, ok := a.regs.Slot(int(in.Offset / 8)); ok {
		in.Source, in.Offset, in.Value = query.InputRegister, uint32(at.Off), 0
	}
}

// text takes the address and the length of a text from their registers. The length may be
// in a slot that the note does not name.
func (a *argumentRegisters) text(in *query.Input) {
	str := in.String
	if in.Source != query.InputString || !str.Sized || str.Elem > 1 || !a.noted(str.Pointer, 8) ||
		str.Length%8 != 0 || str.Length >= a.sig.Block || len(a.sig.Operands)+2 > record.MaxReads {
		return
	}
	pointer, ok := a.regs.Slot(int(str.Pointer / 8))
	length, lengthOK := a.regs.Slot(int(str.Length / 8))
	if !ok || !lengthOK {
		return
	}
	read := func(at operand.Location) int {
		return a.sig.Read(operand.Operand{Kind: operand.Register, Size: 8, Base: at})
	}
	in.String = record.String{Slot: read(pointer), Counted: true, LengthSlot: read(length), LengthSize: 8}
}
