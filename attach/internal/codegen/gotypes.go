package codegen

import (
	"math"
	"time"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
)

// loadGoTime puts the notes.GoTimeType at regRecord+at into R1, as notes.GoTime
// does. It changes R2 to R4.
func (g *generator) loadGoTime(at int16) {
	seconds, nonzero, done := g.newLabel("seconds"), g.newLabel("nonzero"), g.newLabel("time")
	g.emit(
		asm.LoadMem(asm.R1, regRecord, at, asm.DWord),
		asm.LoadMem(asm.R2, regRecord, at+8, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R1),
		asm.And.Imm(asm.R3, 1<<notes.GoNanosecondBits-1),
		asm.LoadImm(asm.R4, notes.GoYear1, asm.DWord),
		asm.JSGE.Imm(asm.R1, 0, seconds),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.LSh.Imm(asm.R2, 1),
		asm.RSh.Imm(asm.R2, notes.GoNanosecondBits+1),
		asm.LoadImm(asm.R4, notes.GoYear1885, asm.DWord),
	)
	g.label(seconds)
	g.emit(
		asm.Add.Reg(asm.R2, asm.R4),
		asm.LoadImm(asm.R4, notes.GoYear1, asm.DWord),
		asm.JNE.Reg(asm.R2, asm.R4, nonzero),
		asm.JNE.Imm(asm.R3, 0, nonzero),
		asm.LoadImm(asm.R1, notes.ZeroTime, asm.DWord),
		asm.Ja.Label(done),
	)
	g.label(nonzero)
	g.emit(
		asm.LoadImm(asm.R1, notes.MinTime, asm.DWord),
		asm.LoadImm(asm.R4, math.MinInt64/int64(time.Second), asm.DWord),
		asm.JSLE.Reg(asm.R2, asm.R4, done),
		asm.LoadImm(asm.R1, notes.MaxTime, asm.DWord),
		asm.LoadImm(asm.R4, math.MaxInt64/int64(time.Second), asm.DWord),
		asm.JSGE.Reg(asm.R2, asm.R4, done),
		asm.Mov.Reg(asm.R1, asm.R2),
		asm.Mul.Imm(asm.R1, int32(time.Second)),
		asm.Add.Reg(asm.R1, asm.R3),
	)
	g.label(done)
}

// loadGoAddr puts the bytes of the notes.GoAddrType in the argument block into
// the string area at regRecord+area, after their number, as notes.GoAddr does. It
// jumps to failed if the address could not be read, and changes R0 to R5.
func (g *generator) loadGoAddr(in *query.Input, area int16, failed string) {
	v4, done := g.newLabel("ipv4"), g.newLabel("address")
	at := g.inBlock(in.Offset)
	g.failedRead(g.sig.RegionRead(in.Offset), failed)
	g.loadOperand(asm.R3, &g.sig.Operands[shape.IPv4Slot])
	g.emit(
		asm.LoadMem(asm.R1, regRecord, at, asm.DWord),
		asm.LoadMem(asm.R2, regRecord, at+8, asm.DWord),
		asm.LoadMem(asm.R5, regRecord, at+16, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.JEq.Imm(asm.R5, 0, done),
		asm.JEq.Reg(asm.R5, asm.R3, v4),
		asm.HostTo(asm.BE, asm.R1, asm.DWord),
		asm.StoreMem(regRecord, area+query.StringData, asm.R1, asm.DWord),
		asm.HostTo(asm.BE, asm.R2, asm.DWord),
		asm.StoreMem(regRecord, area+query.StringData+8, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 16),
		asm.Ja.Label(done),
	)
	g.label(v4)
	g.emit(
		asm.HostTo(asm.BE, asm.R2, asm.Word),
		asm.StoreMem(regRecord, area+query.StringData, asm.R2, asm.Word),
		asm.Mov.Imm(asm.R0, 4),
	)
	g.label(done)
	g.emit(asm.StoreMem(regRecord, area, asm.R0, asm.DWord))
}
