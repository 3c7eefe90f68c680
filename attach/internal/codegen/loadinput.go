package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// loadInput puts a number into R1, extended to 64 bits by its sign; a
// floating-point number's bits lie in the upper half if it has only 32. It
// jumps to failed if the number could not be read, and changes R0 to R5.
func (g *generator) loadInput(in *query.Input, failed string) {
	size, ofTask := in.SiteSize(), taskNumbers[in.Source]
	if ofTask != nil {
		ofTask(g, asm.R1)
	}
	switch in.Source {
	case query.InputRegister:
		g.emit(asm.LoadMem(asm.R1, regContext, int16(in.Offset), asm.DWord))
		if in.Value != 0 {
			g.emit(asm.Add.Imm(asm.R1, int32(in.Value)))
		}
	case query.InputElapsed:
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackClock, asm.DWord))
	case query.InputConstant:
		g.emit(asm.LoadImm(asm.R1, int64(in.Value), asm.DWord))
	case query.InputOperand:
		op := &g.sig.Operands[in.Index]
		if op.Kind != operand.Memory {
			g.loadOperand(asm.R1, op)
			break
		}
		g.failedRead(in.Index, failed)
		if g.scratch {
			g.emit(asm.LoadMem(asm.R1, regRecord, g.recordSlot(in.Index), asm.DWord))
		} else {
			g.emit(asm.LoadMem(asm.R1, asm.R10, stackSlot(in.Index), asm.DWord))
		}
	case query.InputBlock:
		g.failedRead(g.sig.RegionRead(in.Offset), failed)
		at := g.inBlock(in.Offset)
		g.emit(asm.LoadMem(asm.R1, regRecord, at, sizes[size]))
	case query.InputGoTime:
		g.failedRead(g.sig.RegionRead(in.Offset), failed)
		g.loadGoTime(g.inBlock(in.Offset))
	default:
		if ofTask != nil {
			break
		}
		// The jump is conditional because the verifier refuses code that nothing
		// reaches.
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, failed))
		return
	}
	unused := int32(64 - 8*int(size))
	if unused == 0 {
		return
	}
	g.emit(asm.LSh.Imm(asm.R1, unused))
	switch {
	case in.Kind == reader.Float && in.Widened:
		g.widenFloat()
	case in.Kind == reader.Float:
	case in.Signed():
		g.emit(asm.ArSh.Imm(asm.R1, unused))
	default:
		g.emit(asm.RSh.Imm(asm.R1, unused))
	}
}

var sizes = map[uint8]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// widenFloat makes the number of 32 bits in the upper half of R1 one of 64 bits. It changes R2
// and R3.
func (g *generator) widenFloat() {
	const implicit, bias = 1 << 23, 1023 - 127
	signed, subnormal, biased := g.newLabel("signed"), g.newLabel("subnormal"), g.newLabel("biased")
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R2, 63), asm.LSh.Imm(asm.R2, 63), // the sign
		asm.LSh.Imm(asm.R1, 1), asm.RSh.Imm(asm.R1, 33),
		asm.JEq.Imm(asm.R1, 0, signed),
		asm.JLT.Imm(asm.R1, implicit, subnormal),
		asm.Mov.Imm(asm.R3, bias),
		asm.JLT.Imm(asm.R1, 0xff<<23, biased),
		asm.Mov.Imm(asm.R3, 2*bias), // from 0xff to 0x7ff
		asm.Ja.Label(biased),
	)
	g.label(subnormal)
	g.emit(asm.Mov.Imm(asm.R3, bias))
	for shift := int32(16); shift > 0; shift /= 2 {
		enough := g.newLabel("enough")
		g.emit(asm.JGE.Imm(asm.R1, implicit<<1>>shift, enough), asm.LSh.Imm(asm.R1, shift), asm.Sub.Imm(asm.R3, shift))
		g.label(enough)
	}
	g.label(biased)
	g.emit(asm.LSh.Imm(asm.R1, 29), asm.LSh.Imm(asm.R3, 52), asm.Add.Reg(asm.R1, asm.R3))
	g.label(signed)
	g.emit(asm.Or.Reg(asm.R2, asm.R1))
	g.forget(asm.R2)
	g.emit(asm.Mov.Reg(asm.R1, asm.R2))
}

// failedRead jumps if read i has failed. It makes the verifier forget the
// outcome: otherwise the verifier would go on separately with every combination
// of failures. It changes R1 and R2.
func (g *generator) failedRead(i int, failed string) {
	g.emit(asm.LoadMem(asm.R2, asm.R10, stackErrors, asm.DWord))
	g.forget(asm.R2)
	g.emit(
		asm.RSh.Imm(asm.R2, int32(i)),
		asm.And.Imm(asm.R2, 1),
		asm.JNE.Imm(asm.R2, 0, failed),
	)
}

// orderFloat turns the floating-point number in R1 into the integer that
// [filter.FloatOrder] makes of it, and jumps if it is not a number. It changes
// R2 and R3.
func (g *generator) orderFloat(in *query.Input, failed string) {
	positive, zero := g.newLabel("positive"), g.newLabel("zero")
	g.emit(
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.LSh.Imm(asm.R2, 1),
		asm.LoadImm(asm.R3, int64(infinity(in)), asm.DWord),
		asm.JGT.Reg(asm.R2, asm.R3, failed),
		asm.JNE.Imm(asm.R2, 0, zero),
		asm.Mov.Imm(asm.R1, 0), // -0
	)
	g.label(zero)
	g.emit(
		asm.JSGE.Imm(asm.R1, 0, positive),
		asm.LoadImm(asm.R2, 1<<63-1, asm.DWord),
		asm.Xor.Reg(asm.R1, asm.R2),
	)
	g.label(positive)
}

// loadString copies a string to the string area at regRecord+area, after its length, and
// jumps to failed if it could not be read. A length beyond [filter.MaxText] means
// that the string goes on. It changes R0 to R5.
func (g *generator) loadString(in *query.Input, area int16, failed string) {
	switch {
	case in.Source == query.InputComm:
		g.emit(
			asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(area)+query.StringData+filter.MaxString),
			asm.Mov.Imm(asm.R2, 16),
			asm.FnGetCurrentComm.Call(),
			asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(area)+query.StringData),
			asm.Mov.Imm(asm.R2, 16),
			asm.Mov.Reg(asm.R3, regRecord), asm.Add.Imm(asm.R3, int32(area)+query.StringData+filter.MaxString),
			asm.FnProbeReadKernelStr.Call(),
			asm.JSLE.Imm(asm.R0, 0, failed),
			asm.Sub.Imm(asm.R0, 1),
			asm.StoreMem(regRecord, area, asm.R0, asm.DWord),
		)
	case in.Source == query.InputGoAddr:
		g.loadGoAddr(in, area, failed)
	case in.Source == query.InputBytes || in.Source == query.InputChars:
		g.loadArray(in, area, filter.MaxString, failed)
	case in.Source != query.InputString:
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.JEq.Imm(asm.R1, 0, failed))
	case in.String.Sized || in.String.Counted:
		g.loadSized(in, area, filter.MaxString, failed)
	default:
		g.loadTerminated(in, area, filter.MaxString, failed)
	}
}

// loadArray copies an array in the argument block, limit bytes at most, to the string area at
// regRecord+area, after its length.
func (g *generator) loadArray(in *query.Input, area int16, limit int, failed string) {
	g.failedRead(g.sig.RegionRead(in.Offset), failed)
	g.toArea(area)()
	g.emit(asm.Mov.Reg(asm.R3, regRecord), asm.Add.Imm(asm.R3, int32(g.inBlock(in.Offset))))
	if in.Source == query.InputBytes {
		g.emit(
			asm.Mov.Imm(asm.R2, int32(min(in.Value, uint64(limit)))),
			asm.FnProbeReadKernel.Call(),
			asm.Mov.Imm(asm.R0, int32(in.Value)),
			asm.StoreMem(regRecord, area, asm.R0, asm.DWord),
		)
		return
	}
	g.emit(
		// The NUL, and one byte that shows whether the text goes on.
		asm.Mov.Imm(asm.R2, int32(min(in.Value+1, uint64(limit)+2))),
		asm.FnProbeReadKernelStr.Call(),
		asm.JSLE.Imm(asm.R0, 0, failed), // never jumps
		asm.Sub.Imm(asm.R0, 1),
		asm.StoreMem(regRecord, area, asm.R0, asm.DWord),
	)
}

func (g *generator) loadSized(in *query.Input, area int16, limit int32, failed string) {
	if in.String.Sized {
		g.failedRead(g.sig.RegionRead(in.String.Length), failed)
	} else if g.sig.Operands[in.String.Slot].Kind == operand.Memory {
		g.failedRead(in.String.Slot, failed)
	}
	g.loadStringLength(&in.String, failed)
	g.emit(
		asm.StoreMem(regRecord, area, asm.R2, asm.DWord),
	)
	g.copySized(in.String, g.toArea(area), limit, failed)
}

func (g *generator) loadTerminated(in *query.Input, area int16, limit int32, failed string) {
	if op := &g.sig.Operands[in.String.Slot]; op.Kind == operand.Memory {
		g.failedRead(in.String.Slot, failed)
	}
	g.copyTerminated(in.String.Slot, g.toArea(area), in.String.Most(int(limit)), failed)
	g.emit(asm.StoreMem(regRecord, area, asm.R0, asm.DWord))
}

// toArea returns a function that emits code to put the address of a string's bytes
// into R1.
func (g *generator) toArea(area int16) func() {
	return func() { g.emit(asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(area)+query.StringData)) }
}

// infinity returns the bits of a floating-point number's infinity, shifted by one, so
// that the sign is left out. The bits of numbers that are none are greater.
func infinity(in *query.Input) uint64 {
	if in.Size == 4 {
		return 0xff << 56
	}
	return 0x7ff << 53
}

// unlessExceeds jumps to exceeds if R1 is no number of the common kind.
func (g *generator) unlessExceeds(in *query.Input, exceeds string) {
	if in.MayExceed() {
		g.emit(asm.JSLT.Imm(asm.R1, 0, exceeds))
	}
}
