package codegen

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// hashCost returns about how many instructions the verifier walks through for the loop over
// the addresses: 11 for each.
func hashCost(s *query.Signature) int {
	if s.Aggregate.StackPart() == nil {
		return 0
	}
	return 11 * s.Stack.Most
}

// keyStack reads the stack into scratch memory, and stores its hash at key+at.
func (g *generator) keyStack(key asm.Register, at int16) {
	st, area := &g.sig.Stack, g.sig.GroupStackAt()
	if st.Kernel > 0 {
		g.groupKernel(area)
	}
	g.emit(
		asm.Mov.Reg(asm.R1, regContext),
		asm.Mov.Reg(asm.R2, regRecord), asm.Add.Imm(asm.R2, int32(area+query.GroupStackAddresses)),
		asm.Mov.Imm(asm.R3, int32(8*st.Most)),
	)
	if st.Kernel > 0 {
		g.emit(
			asm.LoadMem(asm.R4, asm.R10, stackSum, asm.DWord),
			asm.Add.Reg(asm.R2, asm.R4), asm.Sub.Reg(asm.R3, asm.R4),
		)
	}
	g.emit(
		asm.Mov.Imm(asm.R4, unix.BPF_F_USER_STACK),
		asm.FnGetStack.Call(),
	)
	if st.Kernel > 0 {
		both, done := g.newLabel("both"), g.newLabel("addresses")
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord),
			asm.JSGT.Imm(asm.R0, 0, both),
			asm.JEq.Imm(asm.R1, 0, done),
			asm.Mov.Imm(asm.R0, 0), // a thread of the kernel
		)
		g.label(both)
		g.emit(asm.Add.Reg(asm.R0, asm.R1))
		g.label(done)
	}
	g.emit(
		asm.StoreMem(regRecord, area+query.GroupStackBytes, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
	)
	if st.Entry {
		g.returnAddress()
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord))
	}
	g.emit(asm.StoreMem(regRecord, area+query.GroupStackCaller, asm.R1, asm.DWord))
	g.loadTask()
	g.emit(
		asm.RSh.Imm(asm.R0, 32), asm.StoreMem(regRecord, area+query.GroupStackPID, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regSite), asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32),
		asm.StoreMem(regRecord, area+query.GroupStackSite, asm.R1, asm.DWord),
	)
	g.hashStack(area)
	g.emit(asm.StoreMem(key, at, asm.R0, asm.DWord))
}

// groupKernel reads the kernel's part of the stack, and stores its size at stackSum. The program's follows
// it, in what is left of the addresses. The verifier does not know how the two sizes depend on each
// other, so the memory is larger by as much as the first can be.
func (g *generator) groupKernel(area int16) {
	some := g.newLabel("kernel")
	g.emit(
		asm.Mov.Reg(asm.R1, regContext),
		asm.Mov.Reg(asm.R2, regRecord), asm.Add.Imm(asm.R2, int32(area+query.GroupStackAddresses)),
		asm.Mov.Imm(asm.R3, int32(8*g.sig.Stack.Kernel)),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnGetStack.Call(),
		asm.JSGT.Imm(asm.R0, 0, some),
		asm.Mov.Imm(asm.R0, 0),
	)
	g.label(some)
	g.emit(asm.StoreMem(asm.R10, stackSum, asm.R0, asm.DWord))
}

// hashStack puts the hash of the stack into R0, 0 if there is none. A constant also bounds the
// loop: the verifier walks through all of its turns.
func (g *generator) hashStack(area int16) {
	turn, done, end := g.newLabel("hash"), g.newLabel("hashed"), g.newLabel("stack")
	word := func() { // adds R4
		g.emit(
			asm.Xor.Reg(asm.R0, asm.R4), asm.Mul.Reg(asm.R0, asm.R5),
			asm.Mov.Reg(asm.R4, asm.R0), asm.RSh.Imm(asm.R4, 32), asm.Xor.Reg(asm.R0, asm.R4),
		)
	}
	factor := uint64(query.HashFactor)
	g.emit(
		asm.Mov.Imm(asm.R0, 0),
		asm.LoadMem(asm.R3, regRecord, area+query.GroupStackBytes, asm.DWord),
		asm.JSLE.Imm(asm.R3, 0, end),
		asm.LoadImm(asm.R5, int64(factor), asm.DWord),
	)
	for _, at := range []int16{query.GroupStackPID, query.GroupStackCaller} {
		g.emit(asm.LoadMem(asm.R4, regRecord, area+at, asm.DWord))
		word()
	}
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(area+query.GroupStackAddresses)),
		asm.Mov.Imm(asm.R2, 0),
	)
	g.label(turn)
	g.emit(
		asm.JGE.Reg(asm.R2, asm.R3, done),
		asm.LoadMem(asm.R4, asm.R1, 0, asm.DWord),
	)
	word()
	g.emit(
		asm.Add.Imm(asm.R1, 8), asm.Add.Imm(asm.R2, 8),
		asm.JLT.Imm(asm.R2, int32(8*g.sig.Stack.Most), turn),
	)
	g.label(done)
	g.emit(asm.JNE.Imm(asm.R0, 0, end), asm.Mov.Imm(asm.R0, 1))
	g.label(end)
}

// keepStack puts the stack into the map that belongs to the groups being updated, if its hash is
// new there. A reader of the groups has all their stacks, except the stacks for which the map was
// full.
func (g *generator) keepStack(key asm.Register, at int16) {
	part := g.sig.Aggregate.StackPart()
	if part == nil {
		return
	}
	at += int16(part.Offset)
	known := g.newLabel("known")
	hash := func(fd int) {
		g.emit(
			asm.LoadMapPtr(asm.R1, fd),
			asm.Mov.Reg(asm.R2, key), asm.Add.Imm(asm.R2, int32(at)),
		)
	}
	g.emit(asm.LoadMem(asm.R1, key, at, asm.DWord), asm.JEq.Imm(asm.R1, 0, known))
	g.inEpoch(&g.refs.Stacks, func(fd int) {
		hash(fd)
		g.emit(asm.FnMapLookupElem.Call())
	})
	g.emit(asm.JNE.Imm(asm.R0, 0, known))
	g.inEpoch(&g.refs.Stacks, func(fd int) {
		hash(fd)
		g.emit(
			asm.Mov.Reg(asm.R3, regRecord), asm.Add.Imm(asm.R3, int32(g.sig.GroupStackAt())),
			asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
			asm.FnMapUpdateElem.Call(),
		)
	})
	g.count(CounterStacks)
	g.label(known)
}
