package codegen

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/record"
)

// Omit says which fields of the header are 0 instead of what they are for: each takes a call
// of a helper, and to read the clock may cost more than everything else that a program does.
type Omit struct{ Time, Task, Comm bool }

// tail returns how many bytes at the end of the header are omitted. Records in the ring do
// not have them: memory that the ring has not used for long is not in the caches, and takes
// longer to write than what else a small record needs.
func (o Omit) tail() int {
	switch {
	case !o.Comm:
		return 0
	case !o.Task:
		return record.HeaderSize - record.Comm
	case !o.Time:
		return record.HeaderSize - record.Task
	}
	return record.HeaderSize - record.Time
}

// Expand makes a record of what a program has put into the ring: the header gets its tail.
// It appends to rec, and changes it.
func (o Omit) Expand(rec []byte) []byte {
	n, size := o.tail(), len(rec)
	head := record.HeaderSize - n
	if n == 0 || size < head {
		return rec
	}
	rec = slices.Grow(rec, n)[:size+n]
	copy(rec[head+n:], rec[head:size])
	clear(rec[head : head+n])
	return rec
}

// header is the section that says which site fired, when, and in which thread.
func header() section { return section{write: (*generator).writeHeader} }

// writeHeader is the last to use regSite, whose register regCursor takes.
func (g *generator) writeHeader() {
	g.emit(asm.StoreMem(regRecord, record.Site, regSite, asm.Word))
	g.writeTime()
	g.writeTask()
	g.writeComm()
	if g.scratch {
		g.emit(asm.Mov.Imm(regCursor, int32(g.sig.behindHeader(g.sig.FixedSize()))))
	}
}

// behindHeader returns where in the ring's records something lies that follows the header; at
// is where it lies in a record with a whole header, as [record.Layout] has it.
func (s *Signature) behindHeader(at int) int16 { return int16(at - s.Omit.tail()) }

func (g *generator) writeTime() {
	if g.sig.Omit.Time {
		g.omit(record.Time)
		return
	}
	g.emit(
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(regRecord, record.Time, asm.R0, asm.DWord),
	)
}

func (g *generator) writeTask() {
	if g.sig.Omit.Task {
		g.omit(record.Task)
		return
	}
	g.loadTask()
	g.emit(asm.StoreMem(regRecord, record.Task, asm.R0, asm.DWord))
}

func (g *generator) writeComm() {
	if g.sig.Omit.Comm { // the last field
		return
	}
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Add.Imm(asm.R1, record.Comm),
		asm.Mov.Imm(asm.R2, record.CommSize),
		asm.FnGetCurrentComm.Call(),
	)
}

// omit writes 0 to a field of 8 bytes, unless it is in the tail. It changes R0.
func (g *generator) omit(field int) {
	if field >= record.HeaderSize-g.sig.Omit.tail() {
		return
	}
	g.emit(
		asm.Mov.Imm(asm.R0, 0),
		asm.StoreMem(regRecord, int16(field), asm.R0, asm.DWord),
	)
}
