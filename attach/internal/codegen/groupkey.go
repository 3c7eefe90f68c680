package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// keyAt returns the place of the group's key, or of the key that matches a start
// and its end.
func (g *generator) keyAt(pair bool) (base asm.Register, at int16) {
	agg := g.sig.Aggregate
	size := agg.KeySize
	if pair {
		size = agg.KeysSize()
	}
	switch {
	case !pair && agg.KeySize == 0:
		return asm.R10, stackKey
	case g.scratch:
		return regRecord, int16(g.sig.ScratchSize() - query.ScratchPad - size)
	}
	return asm.R10, int16(stackGroup - size)
}

// keyPart stores a part of the key at key+at.
func (g *generator) keyPart(p *query.Part, key asm.Register, at int16, lost string) {
	at += int16(p.Offset)
	switch {
	case p.In.Source == query.InputStart: // recall has copied it
	case p.In.Source == query.InputProbe:
		g.emit(
			asm.Mov.Reg(asm.R1, regSite), asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32),
			asm.StoreMem(key, at, asm.R1, asm.DWord),
		)
	case p.In.Source == query.InputComm:
		// Before Linux 6.3 the helper leaves what is behind the name as it was.
		g.clearBytes(key, at, 0, query.KeyComm)
		g.emit(
			asm.Mov.Reg(asm.R1, key), asm.Add.Imm(asm.R1, int32(at)),
			asm.Mov.Imm(asm.R2, query.KeyComm),
			asm.FnGetCurrentComm.Call(),
		)
		if p.Prefix > 0 {
			g.clearBytes(key, at, p.Prefix, query.KeyComm)
		}
	case p.In.Source == query.InputStack:
		g.keyStack(key, at)
	case p.IsString():
		g.keyString(p, at, lost)
	case p.In.Source == query.InputComputed:
		g.compute(p.Steps, p.Inputs, func(int) string { return lost })
		g.emit(asm.StoreMem(key, at, asm.R1, asm.DWord))
	default:
		g.loadInput(&p.In, lost)
		if p.In.Kind == reader.Float {
			g.plainFloat()
		}
		g.emit(asm.StoreMem(key, at, asm.R1, asm.DWord))
	}
}

// keyString stores a string, padded, after its length. A string longer than the part has
// the part's length, and one more if the string is to be whole.
func (g *generator) keyString(p *query.Part, at int16, lost string) {
	in, most := &p.In, int32(p.Most())
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for off := int16(0); off < int16(p.Size); off += 8 {
		g.emit(asm.StoreMem(regRecord, at+off, asm.R1, asm.DWord))
	}
	switch {
	case in.Source == query.InputGoAddr:
		g.loadGoAddr(in, at, lost)
	case in.Source == query.InputBytes || in.Source == query.InputChars:
		g.loadArray(in, at, int(most), lost)
	case in.Source != query.InputString:
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, lost))
		return
	case in.String.Sized || in.String.Counted:
		g.loadSized(in, at, most, lost)
	default:
		g.loadTerminated(in, at, most, lost)
	}
	if p.Prefix > 0 {
		g.cutString(regRecord, at, p.Prefix)
		g.clearBytes(regRecord, at+query.StringData, p.Prefix, p.Size-query.StringData) // more may have been copied
		return
	}
	short := g.newLabel("short")
	g.emit(
		asm.Mov.Imm(asm.R2, 0),
		asm.StoreMem(regRecord, at+query.StringData+query.KeyString, asm.R2, asm.DWord),
		asm.LoadMem(asm.R1, regRecord, at, asm.DWord),
		asm.JLE.Imm(asm.R1, query.KeyString, short),
		asm.Mov.Imm(asm.R1, query.KeyString+1),
		asm.StoreMem(regRecord, at, asm.R1, asm.DWord),
	)
	g.label(short)
}

// cutString makes the length of a string, which is in front of it at base+at, that of its
// beginning. It changes R1.
func (g *generator) cutString(base asm.Register, at int16, prefix int) {
	if prefix == 0 {
		return
	}
	short := g.newLabel("short")
	g.emit(
		asm.LoadMem(asm.R1, base, at, asm.DWord),
		asm.JLE.Imm(asm.R1, int32(prefix), short),
		asm.Mov.Imm(asm.R1, int32(prefix)),
		asm.StoreMem(base, at, asm.R1, asm.DWord),
	)
	g.label(short)
}

// clearBytes clears the bytes from one offset to another, a multiple of 8. It changes R1.
func (g *generator) clearBytes(base asm.Register, at int16, from, to int) {
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for size := 0; from < to; from += size {
		for size = 8; from%size != 0; size /= 2 {
		}
		g.emit(asm.StoreMem(base, at+int16(from), asm.R1, sizes[uint8(size)]))
	}
}

// plainFloat makes the bits of equal numbers in R1 equal, and the bits of all NaNs.
// It changes R2 and R3.
func (g *generator) plainFloat() {
	inf := uint64(0x7ff) << 53 // the sign is shifted out
	nonzero, number := g.newLabel("nonzero"), g.newLabel("number")
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.LSh.Imm(asm.R2, 1),
		asm.JNE.Imm(asm.R2, 0, nonzero),
		asm.Mov.Imm(asm.R1, 0), // -0
	)
	g.label(nonzero)
	g.emit(
		asm.LoadImm(asm.R3, int64(inf), asm.DWord),
		asm.JLE.Reg(asm.R2, asm.R3, number),
		asm.LoadImm(asm.R1, int64(inf>>1|inf>>2), asm.DWord), // a quiet NaN
	)
	g.label(number)
}

// groupKey writes the key of the event's group to key+at, and marks parts that
// cannot be read.
func (g *generator) groupKey(key asm.Register, at int16) {
	agg := g.sig.Aggregate
	if agg.KeySize == 0 {
		g.emit(asm.StoreImm(asm.R10, stackKey, 0, asm.Word))
		return
	}
	marks := at + int16(agg.Marks)
	if agg.Role != query.RoleEnd || agg.StartArgs == 0 { // otherwise recall has
		g.clearMarks(key, at)
	}
	for i := range agg.Parts {
		part := &agg.Parts[i]
		switch {
		case part.In.Source == query.InputMissing:
			g.emit(asm.Mov.Imm(asm.R3, int32(part.Mark)))
			g.markPart(part, key, at, marks, i)
		case part.In.Source == query.InputComputed:
			g.computedPart(part, key, at, marks, i)
		case !g.mayFail(&part.In):
			g.keyPart(part, key, at, "")
			g.markSign(part, key, marks, i)
		default:
			failed, done := g.newLabel("failed"), g.newLabel("part")
			g.keyPart(part, key, at, failed)
			g.markSign(part, key, marks, i)
			g.emit(asm.Ja.Label(done))
			g.label(failed)
			g.whyMissing(&part.In)
			g.markPart(part, key, at, marks, i)
			g.label(done)
		}
	}
}
