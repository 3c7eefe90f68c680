package bind

import (
	"cmp"
	"debug/elf"
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/reader"
)

// errTooMany says why an argument of a probe without types has no value.
var errTooMany = fmt.Errorf("more than %d arguments need a read of their own", record.MaxReads-1)

// bindNote reads the arguments of a probe that has only a note, and names the known ones.
func (b *Binder) bindNote(sc *Schema, s *site.Site, regs *operand.Registers) {
	args, known := b.variables(s, s.Probe.Arguments(), b.known(&s.Probe))
	for i, a := range args {
		sc.Fields = append(sc.Fields, shape.Field{Name: shape.ArgName(i), Kind: kindOf(a)})
	}
	if known != nil {
		sc.bindKnown(known, args)
	}
	b.bindArguments(sc, s, regs, args, known)
	if known != nil {
		sc.hideLengths(known)
	}
}

// bindArguments reads arguments whose names and kinds the fields give. known is nil if
// nothing is known of them but what the note says.
func (b *Binder) bindArguments(sc *Schema, s *site.Site, regs *operand.Registers, args []notes.Arg, known *prototype.Prototype) {
	p := &s.Probe
	var obj *operand.Object // the kernel has none
	if !p.Kind.InKernel() {
		if opened, err := b.Objects.Open(s.Path); err == nil {
			obj = opened
		}
	}
	// Symbols are measured against the site's address, as the note and the
	// symbols count addresses, and against the place where the program is
	// stopped.
	site, ipDelta := p.Location+p.Delta, int64(s.Offset-p.Offset)
	var strs []stringField
	reads := 0 // of strings
	for i, a := range args {
		f := &sc.Fields[i]
		if low, high, ok := halvesOf(a, p.Class); ok {
			first, err := operand.Compile(low, regs, p.Machine, p.Class, obj, site, ipDelta)
			second, other := operand.Compile(high, regs, p.Machine, p.Class, obj, site, ipDelta)
			switch {
			case err != nil || other != nil:
				f.Err = cmp.Or(err, other)
			case sc.Sig.Reads()+2+reads > record.MaxReads:
				f.Err = errTooMany
			default:
				sc.bindHalves(f, first, second)
			}
			continue
		}
		op, err := operand.Compile(a, regs, p.Machine, p.Class, obj, site, ipDelta)
		var str *StringArg
		if err == nil {
			name := f.Name
			if p.Target == nil && !b.namesString(p, name) {
				name = shape.ArgName(i)
			}
			str = b.stringArg(p, name, &op, a.Float, knownString(known, i))
		}
		if str != nil && str.follow {
			op, err = op.Followed(str.offset)
		}
		switch {
		case err != nil:
			f.Err = err
		case a.Float && op.Size != 4 && op.Size != 8:
			f.Err = fmt.Errorf("floating-point numbers of %d bytes are not supported", op.Size)
		case op.Kind == operand.Const && str == nil:
			f.Source = shape.FromConstant
			f.Constant = constantOf(op.Value, op.Size, f.Kind, f.Meaning)
			f.Bits = bitsOf(f.Constant)
		case sc.Sig.Reads()+1+reads+str.reads() > record.MaxReads:
			f.Err = errTooMany
		default:
			f.Source, f.Size = shape.FromRecord, op.Size
			f.Read = sc.Sig.Read(op)
			f.Offset = record.Slot(f.Read)
			if str != nil {
				strs = append(strs, stringField{i, str})
				reads += str.reads()
			}
		}
	}
	sc.bindStrings(strs, func(name string) (operand.Operand, *notes.Arg) {
		a := lengthArg(p, name)
		if a != nil && p.Target != nil {
			b.Args.Retype(a, name)
		}
		if a != nil && a.Err == nil {
			if op, err := operand.Compile(*a, regs, p.Machine, p.Class, obj, site, ipDelta); err == nil {
				return op, a
			}
		}
		return operand.Operand{}, nil
	})
}

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
