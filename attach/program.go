package attach

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Registers of a generated program that survive helper calls.
const (
	regContext  = asm.R6
	regRecord   = asm.R7
	regCounters = asm.R8
	regSite     = asm.R9 // the site's index, until the record holds it
	regCursor   = asm.R9 // then: where the next string goes
)

// Stack slots, from the frame pointer.
const (
	stackKey    = -8
	stackLength = -16
	stackErrors = -20 // u32, becomes headErrors
	stackSlots  = -32 // and below: memory operands of records without strings
)

// generator writes one program.
type generator struct {
	sig    *signature
	maps   *maps
	sleeps bool
	ins    asm.Instructions
	labels int
	next   string // label for the next instruction
}

// programLicense allows the helpers that read memory.
const programLicense = "Dual MIT/GPL"

// programSpec generates the program for sig. With canSleep it may have pages
// brought into memory that it reads.
func programSpec(sig *signature, m *maps, typ ebpf.AttachType, canSleep bool) *ebpf.ProgramSpec {
	g := &generator{sig: sig, maps: m, sleeps: canSleep && sig.readsMemory()}
	g.prologue()
	if len(sig.strings) == 0 {
		g.emitFixed()
	} else {
		g.emitVariable()
	}
	spec := &ebpf.ProgramSpec{
		Name:         "usdt",
		Type:         ebpf.Kprobe,
		AttachType:   typ,
		Instructions: g.ins,
		License:      programLicense,
	}
	if g.sleeps {
		spec.Flags |= unix.BPF_F_SLEEPABLE
	}
	return spec
}

func (g *generator) emit(ins ...asm.Instruction) {
	for _, in := range ins {
		if g.next != "" {
			in = in.WithSymbol(g.next)
			g.next = ""
		}
		g.ins = append(g.ins, in)
	}
}

func (g *generator) newLabel(what string) string {
	g.labels++
	return fmt.Sprintf("%s_%d", what, g.labels)
}

// label names the next instruction.
func (g *generator) label(name string) {
	if g.next != "" {
		g.emit(asm.Ja.Label(name)) // two names for one place
	}
	g.next = name
}

// prologue keeps the context and the site, and counts the firing.
func (g *generator) prologue() {
	g.emit(
		asm.Mov.Reg(regContext, asm.R1),
		asm.FnGetAttachCookie.Call(),
		asm.Mov.Reg(regSite, asm.R0),
		asm.StoreImm(asm.R10, stackErrors, 0, asm.Word),
		asm.StoreImm(asm.R10, stackKey, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, g.maps.counters.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(regCounters, asm.R0),
	)
	g.count(counterFired)
}

// count adds one to a counter. Programs of tasks on one CPU may preempt each
// other, hence the atomic.
func (g *generator) count(off int16) {
	g.emit(
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(regCounters, asm.R1, asm.DWord, off),
	)
}

// epilogue ends the program; it counts a lost event if jumped to at "lost".
func (g *generator) epilogue() {
	g.emit(asm.Ja.Label("exit"))
	g.label("lost")
	g.count(counterLost)
	g.label("exit")
	g.emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
}

// emitFixed sends a record whose size is known, written in place. What may
// sleep comes first: a record that is reserved holds up those behind it.
func (g *generator) emitFixed() {
	for i := range g.sig.operands {
		if op := &g.sig.operands[i]; op.kind == opMemory {
			g.readOperand(op, i, asm.R10, stackSlot(i))
		}
	}
	g.emit(
		asm.LoadMapPtr(asm.R1, g.maps.ring.FD()),
		asm.Mov.Imm(asm.R2, int32(g.sig.fixedSize())),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnRingbufReserve.Call(),
		asm.JEq.Imm(asm.R0, 0, "lost"),
		asm.Mov.Reg(regRecord, asm.R0),
	)
	g.header()
	for i := range g.sig.operands {
		if op := &g.sig.operands[i]; op.kind == opMemory {
			g.emit(asm.LoadMem(asm.R3, asm.R10, stackSlot(i), asm.DWord))
		} else {
			g.loadOperand(asm.R3, op)
		}
		g.emit(asm.StoreMem(regRecord, recordSlot(i), asm.R3, asm.DWord))
	}
	g.readBlock(false)
	g.storeErrors()
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRingbufSubmit.Call(),
	)
	g.epilogue()
}

func stackSlot(i int) int16  { return int16(stackSlots - 8*(i+1)) }
func recordSlot(i int) int16 { return int16(headSize + 8*i) }

// emitVariable puts a record together in scratch memory and sends what it used.
func (g *generator) emitVariable() {
	g.takeScratch()
	g.emit(asm.Add.Imm(regRecord, scratchPad))
	g.header()
	for i := range g.sig.operands {
		op := &g.sig.operands[i]
		if op.kind == opMemory {
			g.readOperand(op, i, regRecord, recordSlot(i))
			continue
		}
		g.loadOperand(asm.R3, op)
		g.emit(asm.StoreMem(regRecord, recordSlot(i), asm.R3, asm.DWord))
	}
	g.readBlock(g.sleeps)
	g.emit(asm.Mov.Imm(regCursor, int32(g.sig.fixedSize())))
	bit := g.sig.reads() - len(g.sig.strings)
	for _, s := range g.sig.strings {
		g.readString(s, bit)
		bit++
	}
	g.storeErrors()
	g.emit(
		asm.LoadMapPtr(asm.R1, g.maps.ring.FD()),
		asm.Mov.Reg(asm.R2, regRecord),
		asm.Mov.Reg(asm.R3, regCursor),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(regRecord, -scratchPad, asm.R1, asm.DWord),
		asm.JNE.Imm(asm.R0, 0, "lost"),
	)
	g.epilogue()
}

// scratchSlots per CPU: a task that is preempted within a program keeps its
// own, and those that run meanwhile take the next.
const scratchSlots = 4

// takeScratch sets regRecord to scratch memory that is locked for this program
// run. Without any left the event is lost.
func (g *generator) takeScratch() {
	got := g.newLabel("scratch")
	for i := range scratchSlots {
		next := g.newLabel("next")
		g.emit(
			asm.StoreImm(asm.R10, stackKey, int64(i), asm.Word),
			asm.LoadMapPtr(asm.R1, g.maps.scratch.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, stackKey),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "lost"),
			asm.Mov.Reg(regRecord, asm.R0),
			asm.Mov.Imm(asm.R1, 1),
			exchange(regRecord, asm.R1),
		)
		if i == scratchSlots-1 {
			g.emit(asm.JNE.Imm(asm.R1, 0, "lost"))
			break
		}
		g.emit(asm.JEq.Imm(asm.R1, 0, got))
		g.label(next)
	}
	g.label(got)
}

// exchange swaps src with the 8 bytes that dst points to.
func exchange(dst, src asm.Register) asm.Instruction {
	in := asm.Xchg.Mem(dst, src, asm.DWord, 0)
	// cilium/ebpf v0.22 encodes every atomic operation as an addition, unless
	// the constant says itself which it is (include/uapi/linux/bpf.h: BPF_XCHG).
	in.Constant = 0xe1
	return in
}

func (g *generator) header() {
	g.emit(
		asm.StoreMem(regRecord, headSite, regSite, asm.Word),
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(regRecord, headTime, asm.R0, asm.DWord),
		asm.FnGetCurrentPidTgid.Call(),
		asm.StoreMem(regRecord, headTask, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regRecord),
		asm.Add.Imm(asm.R1, headComm),
		asm.Mov.Imm(asm.R2, 16),
		asm.FnGetCurrentComm.Call(),
	)
}

// readBlock copies the argument block. It has just been written, to the stack
// of the thread, and is in memory.
func (g *generator) readBlock(mayCopy bool) {
	if !g.sig.block {
		return
	}
	load := func() {
		g.loadLocation(asm.R3, g.sig.blockBase)
		g.emit(asm.Add.Imm(asm.R3, g.sig.blockOffset))
	}
	g.readUser(load, int32(g.sig.blockSize), regRecord, int16(g.sig.blockStart()), len(g.sig.operands), mayCopy)
}

// readOperand copies a memory operand to 8 bytes at dst+off. Only its size's
// first bytes are the value.
func (g *generator) readOperand(op *operand, i int, dst asm.Register, off int16) {
	if op.size < 8 || dst == asm.R10 {
		g.emit(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(dst, off, asm.R1, asm.DWord))
	}
	load := func() { g.loadAddress(asm.R3, op) }
	g.readUser(load, int32(op.size), dst, off, i, g.sleeps)
}

// readUser copies size bytes from the address that load puts into R3, and sets
// error bit i if it cannot.
func (g *generator) readUser(load func(), size int32, dst asm.Register, off int16, i int, mayCopy bool) {
	ok := g.newLabel("read")
	helpers := []asm.BuiltinFunc{asm.FnProbeReadUser}
	if mayCopy {
		helpers = append(helpers, asm.FnCopyFromUser)
	}
	for _, fn := range helpers {
		load()
		g.emit(
			asm.Mov.Imm(asm.R2, size),
			asm.Mov.Reg(asm.R1, dst),
			asm.Add.Imm(asm.R1, int32(off)),
			fn.Call(),
			asm.JEq.Imm(asm.R0, 0, ok),
		)
	}
	g.markError(i)
	g.label(ok)
}

func (g *generator) markError(i int) {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.Word),
		asm.LoadImm(asm.R2, 1<<i, asm.DWord),
		asm.Or.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R10, stackErrors, asm.R1, asm.Word),
	)
}

func (g *generator) storeErrors() {
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackErrors, asm.Word),
		asm.StoreMem(regRecord, headErrors, asm.R1, asm.Word),
	)
}

// loadOperand puts the value of an operand that is not in memory into dst. It
// changes R4 too.
func (g *generator) loadOperand(dst asm.Register, op *operand) {
	switch op.kind {
	case opConst:
		g.emit(asm.LoadImm(dst, int64(op.value), asm.DWord))
	case opRegister:
		g.loadLocation(dst, op.base)
		if op.hasPair {
			g.loadLocation(asm.R4, op.pair)
			g.emit(
				asm.LSh.Imm(dst, 32), asm.RSh.Imm(dst, 32),
				asm.LSh.Imm(asm.R4, 32),
				asm.Or.Reg(dst, asm.R4),
			)
		}
	case opAddress:
		g.loadAddress(dst, op)
	}
}

// loadAddress puts the address of an operand into dst. It changes R4 too.
func (g *generator) loadAddress(dst asm.Register, op *operand) {
	g.emit(asm.LoadImm(dst, op.disp, asm.DWord))
	if op.hasBase {
		g.loadLocation(asm.R4, op.base)
		g.emit(asm.Add.Reg(dst, asm.R4))
	}
	if op.hasIndex {
		g.loadLocation(asm.R4, op.index)
		if op.extend == 32 {
			g.emit(asm.LSh.Imm(asm.R4, 32))
			if op.extendSigned {
				g.emit(asm.ArSh.Imm(asm.R4, 32))
			} else {
				g.emit(asm.RSh.Imm(asm.R4, 32))
			}
		}
		if op.scale != 0 {
			g.emit(asm.LSh.Imm(asm.R4, int32(op.scale)))
		}
		g.emit(asm.Add.Reg(dst, asm.R4))
	}
	if op.wrap32 {
		g.emit(asm.LSh.Imm(dst, 32), asm.RSh.Imm(dst, 32))
	}
}

func (g *generator) loadLocation(dst asm.Register, l location) {
	if l.zero {
		g.emit(asm.Mov.Imm(dst, 0))
		return
	}
	g.emit(asm.LoadMem(dst, regContext, l.off, asm.DWord))
	if l.shift != 0 {
		g.emit(asm.RSh.Imm(dst, int32(l.shift)))
	}
}

// readString copies a string to the cursor and moves it on by what was copied.
func (g *generator) readString(s stringRead, bit int) {
	failed, done := g.newLabel("failed"), g.newLabel("done")
	if s.sized {
		g.readSized(s, failed)
	} else {
		g.readTerminated(s, failed)
	}
	g.emit(asm.Ja.Label(done))
	g.label(failed)
	g.markError(bit)
	g.label(done)
	g.emit(asm.And.Imm(regCursor, int32(g.sig.cursorMask(g.sig.stringLimit()))))
}

func (g *generator) readSized(s stringRead, failed string) {
	limit := int32(g.sig.stringLimit())
	start := g.sig.blockStart()
	whole, ok := g.newLabel("whole"), g.newLabel("copied")
	g.emit(
		asm.LoadMem(asm.R2, regRecord, int16(start+int(s.length)), asm.DWord),
		asm.JLE.Imm(asm.R2, limit, whole),
		asm.Mov.Imm(asm.R2, limit),
	)
	g.label(whole)
	g.emit(asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord))
	helpers := []asm.BuiltinFunc{asm.FnProbeReadUser}
	if g.sleeps {
		helpers = append(helpers, asm.FnCopyFromUser)
	}
	for _, fn := range helpers {
		g.emit(
			asm.LoadMem(asm.R2, asm.R10, stackLength, asm.DWord),
			asm.LoadMem(asm.R3, regRecord, int16(start+int(s.pointer)), asm.DWord),
			asm.Mov.Reg(asm.R1, regRecord),
			asm.Add.Reg(asm.R1, regCursor),
			fn.Call(),
			asm.JEq.Imm(asm.R0, 0, ok),
		)
	}
	g.emit(asm.Ja.Label(failed))
	g.label(ok)
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord),
		asm.Add.Reg(regCursor, asm.R1),
	)
}

// smallestPage is the smallest page of any architecture that is supported.
const smallestPage = 4096

func (g *generator) readTerminated(s stringRead, failed string) {
	limit := g.sig.stringLimit()
	slot := recordSlot(s.slot)
	ok := g.newLabel("copied")
	try := func() {
		g.emit(
			asm.LoadMem(asm.R3, regRecord, slot, asm.DWord),
			asm.Mov.Imm(asm.R2, int32(limit+2)),
			asm.Mov.Reg(asm.R1, regRecord),
			asm.Add.Reg(asm.R1, regCursor),
			asm.FnProbeReadUserStr.Call(),
			asm.JSGT.Imm(asm.R0, 0, ok),
		)
	}
	try()
	if g.sleeps {
		// Touch a byte of each page that the text may reach.
		for page := 0; page <= (limit+2+smallestPage-1)/smallestPage; page++ {
			g.emit(asm.LoadMem(asm.R3, regRecord, slot, asm.DWord))
			if page > 0 {
				g.emit(
					asm.RSh.Imm(asm.R3, 12),
					asm.Add.Imm(asm.R3, int32(page)),
					asm.LSh.Imm(asm.R3, 12),
				)
			}
			g.emit(
				asm.Mov.Imm(asm.R2, 1),
				asm.Mov.Reg(asm.R1, asm.R10),
				asm.Add.Imm(asm.R1, stackKey),
				asm.FnCopyFromUser.Call(),
			)
		}
		try()
	}
	g.emit(asm.Ja.Label(failed))
	g.label(ok)
	g.emit(
		asm.Sub.Imm(asm.R0, 1), // the NUL
		asm.StoreMem(regRecord, slot, asm.R0, asm.DWord),
		asm.Add.Reg(regCursor, asm.R0),
	)
}

// emptyProgram returns at once.
func emptyProgram() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}
