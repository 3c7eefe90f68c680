package bind

import (
	"debug/elf"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// halvesOf returns the two words of an argument of 16 bytes, as compilers pass
// structs and __int128: in two registers, where the ABI determines the second
// (notes.Arg.Pair), or side by side in memory. The note does not say which type
// it is; low is the first word in memory.
func halvesOf(a notes.Arg, c elf.Class) (low, high notes.Arg, ok bool) {
	if a.Size != 16 || c != elf.ELFCLASS64 || a.Err != nil || a.Float {
		return a, a, false
	}
	a.Size, a.Signed = 8, false
	low, high = a, a
	switch {
	case a.Kind == notes.Reg && a.Pair != "":
		low.Pair, high.Pair, high.Reg = "", "", a.Pair
	case a.Kind == notes.Mem:
		high.Disp += 8
	default:
		return a, a, false
	}
	return low, high, true
}

// bindHalves reads both words of an argument into a struct of two fields.
func (sc *Schema) bindHalves(f *shape.Field, low, high operand.Operand) {
	f.Source, f.Kind = shape.FromStruct, reader.Other
	for _, half := range []struct {
		name string
		op   operand.Operand
	}{{"low", low}, {"high", high}} {
		read := sc.Sig.Read(half.op)
		f.Parts = append(f.Parts, shape.Field{
			Name: half.name, Source: shape.FromRecord, Kind: reader.Uint, Size: 8, Read: read, Offset: record.Slot(read),
		})
	}
}
