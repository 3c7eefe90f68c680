package codegen

import (
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/symbols"
)

// A group by stack has the stack's hash in its key. The stack itself is a value of
// Refs.Stacks, in words of 8 bytes:
//
//	process      PID, as the tracer's namespace has it
//	site         its number
//	caller       the return address at a function's entry, 0 if it stands among the addresses
//	size         bytes of the addresses
//	addresses    the innermost first
const (
	groupStackPID       = 0
	groupStackSite      = 8
	groupStackCaller    = 16
	groupStackSize      = 24
	groupStackAddresses = 32
)

// GroupStackSize returns the bytes of a stack of so many addresses.
func GroupStackSize(most int) int { return groupStackAddresses + 8*most }

// GroupStack is a stack that groups have.
type GroupStack struct {
	PID, Site int
	symbols.Calls
	// Saved is the stack if a recording has it, with what names it, and nil otherwise.
	Saved *event.Stack
}

var errGroupStack = errors.New("the stack of a group is damaged")

// ReadGroupStack reads a value of Refs.Stacks.
func ReadGroupStack(b []byte) (st GroupStack, err error) {
	if len(b) < groupStackAddresses {
		return st, errGroupStack
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	st.PID, st.Site = int(word(groupStackPID)), int(word(groupStackSite))
	size := word(groupStackSize)
	if size%8 != 0 || size > uint64(len(b)-groupStackAddresses) {
		return st, errGroupStack
	}
	st.PCs = record.AppendAddresses(nil, b[groupStackAddresses:][:size], word(groupStackCaller))
	return st, nil
}

// hashFactor is an odd number with many bits set and clear: 2^64 divided by the golden ratio.
const hashFactor = 0x9e3779b97f4a7c15

// StackHash returns what tells the stacks of processes apart; it is never 0, which stands for a
// stack that could not be read. At a function's entry, programs hash the return address in
// front of the others.
func StackHash(pid int, calls symbols.Calls) uint64 {
	h := hashWord(hashWord(0, uint64(pid)), 0)
	for _, pc := range calls.PCs {
		h = hashWord(h, pc)
	}
	for _, i := range calls.Exact { // which no program finds
		h = hashWord(h, uint64(i))
	}
	if calls.Cut != nil {
		for _, b := range []byte(calls.Cut.Error()) {
			h = hashWord(h, uint64(b))
		}
	}
	return max(h, 1)
}

func hashWord(h, word uint64) uint64 {
	h = (h ^ word) * hashFactor
	return h ^ h>>32
}

// StackPart returns the part of the key that is a stack's hash, nil if there is none.
func (c *Aggregate) StackPart() *Part {
	if c == nil || c.Role == RoleStart {
		return nil
	}
	for i := range c.Parts {
		if c.Parts[i].In.Source == InputStack {
			return &c.Parts[i]
		}
	}
	return nil
}

// groupStackSize returns the bytes of scratch memory that a stack takes before it is known
// whether it is new.
func (s *Signature) groupStackSize() int {
	if s.Aggregate.StackPart() == nil {
		return 0
	}
	return GroupStackSize(s.Aggregate.StackMost)
}

// groupStackAt is where that memory is, from the record on.
func (s *Signature) groupStackAt() int16 {
	return int16(s.ScratchSize() - scratchPad - s.Aggregate.KeysSize() - s.groupStackSize())
}

// hashCost returns about how many instructions the verifier walks through for the loop over
// the addresses: 11 for each.
func hashCost(s *Signature) int {
	if s.Aggregate.StackPart() == nil {
		return 0
	}
	return 11 * s.Stack.Most
}

// keyStack reads the stack into scratch memory, and stores its hash at key+at.
func (g *generator) keyStack(key asm.Register, at int16) {
	st, area := &g.sig.Stack, g.sig.groupStackAt()
	g.emit(
		asm.Mov.Reg(asm.R1, regContext),
		asm.Mov.Reg(asm.R2, regRecord), asm.Add.Imm(asm.R2, int32(area+groupStackAddresses)),
		asm.Mov.Imm(asm.R3, int32(8*st.Most)),
		asm.Mov.Imm(asm.R4, unix.BPF_F_USER_STACK),
		asm.FnGetStack.Call(),
		asm.StoreMem(regRecord, area+groupStackSize, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
	)
	if st.Entry {
		g.returnAddress()
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackLength, asm.DWord))
	}
	g.emit(asm.StoreMem(regRecord, area+groupStackCaller, asm.R1, asm.DWord))
	g.loadTask()
	g.emit(
		asm.RSh.Imm(asm.R0, 32), asm.StoreMem(regRecord, area+groupStackPID, asm.R0, asm.DWord),
		asm.Mov.Reg(asm.R1, regSite), asm.LSh.Imm(asm.R1, 32), asm.RSh.Imm(asm.R1, 32),
		asm.StoreMem(regRecord, area+groupStackSite, asm.R1, asm.DWord),
	)
	g.hashStack(area)
	g.emit(asm.StoreMem(key, at, asm.R0, asm.DWord))
}

// hashStack puts the hash of the stack into R0, 0 if there is none. The loop ends by a
// constant, too: the verifier walks through all of its turns.
func (g *generator) hashStack(area int16) {
	turn, done, end := g.newLabel("hash"), g.newLabel("hashed"), g.newLabel("stack")
	word := func() { // adds R4
		g.emit(
			asm.Xor.Reg(asm.R0, asm.R4), asm.Mul.Reg(asm.R0, asm.R5),
			asm.Mov.Reg(asm.R4, asm.R0), asm.RSh.Imm(asm.R4, 32), asm.Xor.Reg(asm.R0, asm.R4),
		)
	}
	factor := uint64(hashFactor)
	g.emit(
		asm.Mov.Imm(asm.R0, 0),
		asm.LoadMem(asm.R3, regRecord, area+groupStackSize, asm.DWord),
		asm.JSLE.Imm(asm.R3, 0, end),
		asm.LoadImm(asm.R5, int64(factor), asm.DWord),
	)
	for _, at := range []int16{groupStackPID, groupStackCaller} {
		g.emit(asm.LoadMem(asm.R4, regRecord, area+at, asm.DWord))
		word()
	}
	g.emit(
		asm.Mov.Reg(asm.R1, regRecord), asm.Add.Imm(asm.R1, int32(area+groupStackAddresses)),
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

// keepStack puts the stack into the map of those whose groups are being updated, if its hash
// is new there. Whoever reads the groups has all stacks of theirs, but those that found no
// room.
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
			asm.Mov.Reg(asm.R3, regRecord), asm.Add.Imm(asm.R3, int32(g.sig.groupStackAt())),
			asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
			asm.FnMapUpdateElem.Call(),
		)
	})
	g.count(CounterStacks)
	g.label(known)
}
