package bind

import (
	"debug/elf"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestUseRegisters checks which arguments are taken from the registers of a stub: numbers
// and texts in the first six slots of the block, of which the note names the visible ones.
func TestUseRegisters(t *testing.T) {
	regs, err := operand.RegistersOf("amd64", elf.EM_X86_64, elf.ELFCLASS64)
	if err != nil {
		t.Fatal(err)
	}
	block := func(offset uint32, size uint8) query.Input {
		return query.Input{Source: query.InputBlock, Kind: reader.Int, Size: size, Offset: offset}
	}
	register := func(name string, size uint8) query.Input {
		return query.Input{Source: query.InputRegister, Kind: reader.Int, Size: size, Offset: uint32(regs.ByName[name])}
	}
	text := func(s record.String) query.Input {
		return query.Input{Source: query.InputString, Kind: reader.String, String: s}
	}
	const stub, rec = "-4@%edi 8@%rsi 8@%rdx 1@%cl 8@%r8 8@%r9 8@48(%rax)", "-4@0(%rax) 8@8(%rax)"
	for name, tt := range map[string]struct {
		args     string
		in, want query.Input
		block    bool // whether it is still read
	}{
		"number":        {stub, block(0, 4), register("rdi", 4), false},
		"byte":          {stub, block(24, 1), register("rcx", 1), false},
		"another size":  {stub, block(0, 8), block(0, 8), true},
		"half a slot":   {stub, block(4, 4), block(4, 4), true},
		"in memory":     {stub, block(48, 8), block(48, 8), true},
		"hidden":        {stub, block(56, 8), block(56, 8), true},
		"of a record":   {rec, block(0, 4), block(0, 4), true},
		"text":          {stub, text(record.String{Sized: true, Pointer: 8, Length: 32}), text(record.String{Counted: true, LengthSlot: 1, LengthSize: 8}), false},
		"length hidden": {"8@%rdi", text(record.String{Sized: true, Length: 8}), text(record.String{Counted: true, LengthSlot: 1, LengthSize: 8}), false},
		"length far":    {stub, text(record.String{Sized: true, Pointer: 8, Length: 56}), text(record.String{Sized: true, Pointer: 8, Length: 56}), true},
	} {
		t.Run(name, func(t *testing.T) {
			p := &reader.Probe{Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Note: notes.Note{Args: tt.args}, Type: &reader.Type{}}
			sc := NewSchema(&query.Signature{
				Layout:    record.Layout{Block: 64},
				Aggregate: &query.Aggregate{Parts: []query.Part{{In: tt.in}}},
			})
			sc.useRegisters(p, regs)
			sc.Sig.DropUnneeded()
			if d := cmp.Diff(tt.want, sc.Sig.Aggregate.Parts[0].In); d != "" || (sc.Sig.Block > 0) != tt.block {
				t.Errorf("reads a block of %d bytes, want one: %v; input (-want +got):\n%s", sc.Sig.Block, tt.block, d)
			}
		})
	}
}
