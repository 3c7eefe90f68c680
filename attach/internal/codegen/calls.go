package codegen

import (
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/internal/kernel"
)

// notReturned is what such a program returns at an entry to not run at the return of this call.
const notReturned = 1

// ifReturned jumps to returned if the program runs at a return.
func (g *generator) ifReturned(returned string) {
	g.emit(asm.Mov.Reg(asm.R1, regContext), kernel.CallFunction(g.refs.Calls.IsReturn))
	g.emit(asm.And.Imm(asm.R0, 1), asm.JNE.Imm(asm.R0, 0, returned)) // a bool is a byte
}

// callTime puts the address of the call's 8 bytes into R0.
func (g *generator) callTime() {
	g.emit(asm.Mov.Reg(asm.R1, regContext), kernel.CallFunction(g.refs.Calls.Cookie))
}

// enterCall notes when the call began. A call that does not pass the condition is counted as if it had
// returned, and the program does not run again for it.
func (g *generator) enterCall(to exits) {
	unwanted := g.newLabel("unwanted")
	g.unwanted()
	if g.sig.Condition != nil {
		g.emit(asm.LoadMem(asm.R1, asm.R10, stackSum, asm.DWord), asm.JNE.Imm(asm.R1, 0, unwanted))
	}
	g.callTime()
	g.emit(
		// Never, but the verifier refuses code that nothing reaches.
		asm.JEq.Imm(asm.R0, 0, to.done), asm.JEq.Imm(asm.R0, 0, to.lost),
		asm.Mov.Reg(regStarts, asm.R0), asm.FnKtimeGetNs.Call(), asm.StoreMem(regStarts, 0, asm.R0, asm.DWord),
	)
	g.count(CounterCalled)
	if g.scratch {
		g.releaseScratch()
	}
	g.emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
	if g.sig.Condition == nil {
		return
	}
	g.label(unwanted)
	for _, counter := range []int16{CounterFired, CounterFiltered, CounterStarted, CounterDropped} { // of its return
		g.count(counter)
	}
	g.emit(asm.Ja.Label(to.done))
}

// leaveCall puts the time when the call began into R2 and at stackLength. It jumps to unstarted if the
// program did not run at the entry. The kernel does not clear the 8 bytes for later calls.
func (g *generator) leaveCall(unstarted string) {
	g.callTime()
	g.emit(
		asm.LoadMem(asm.R2, asm.R0, 0, asm.DWord),
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.StoreMem(asm.R10, stackLength, asm.R2, asm.DWord),
		asm.JEq.Imm(asm.R2, 0, unstarted),
	)
}

// countReturn counts that a call has returned, as a start that has found its end.
func (g *generator) countReturn() {
	if g.kind.call {
		g.count(CounterStarted)
		g.uncount(CounterCalled)
	}
}
