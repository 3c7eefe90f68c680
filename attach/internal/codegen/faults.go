package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// stackFault holds which input could not be read while a condition is tested, and why: an
// index + 1, and in the upper half a mark; 0 for none. Nothing else uses these 4 bytes then.
const stackFault = stackKey + 4

// faultKey is where a fault is on the stack: the number of the site, the low bits of its
// address, 0, and what is at stackFault.
const faultKey = stackLength

// FaultsSpec describes Refs.Faults: how often there was each fault.
func FaultsSpec() *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "usdt_faults", Type: ebpf.Hash, KeySize: 16, ValueSize: 8, MaxEntries: 1024}
}

// FaultOf returns the fault that is a key of Refs.Faults.
func FaultOf(key [4]uint32) query.Fault {
	return query.Fault{Site: key[0], Low: key[1], Input: int(key[3]&0xffff) - 1, Mark: uint8(key[3] >> 16)}
}

// mayFault reports whether the condition may compare what cannot be read.
func (g *generator) mayFault() bool {
	if g.refs.Faults == nil {
		return false
	}
	for i := range g.sig.Inputs {
		if g.mayFail(&g.sig.Inputs[i]) {
			return true
		}
	}
	return false
}

// onFault returns where to jump if an input cannot be read, and what emits the code there, which
// goes on at no.
func (g *generator) onFault(input int, no string) (failed string, emit func()) {
	var in *query.Input
	if input == query.ValueInput {
		in = &g.sig.Aggregate.Value
	} else {
		in = &g.sig.Inputs[input]
	}
	if g.refs.Faults == nil || !g.mayFail(in) {
		return no, func() {}
	}
	failed = g.newLabel("fault")
	return failed, func() {
		g.label(failed)
		g.whyMissing(in)
		g.noteFault(input, no)
	}
}

// noteFault notes that there is a fault of an input, whose mark is in R3, and goes on at no.
func (g *generator) noteFault(input int, no string) {
	g.emit(asm.LSh.Imm(asm.R3, 16), asm.Or.Imm(asm.R3, int32(input+1)))
	g.forget(asm.R3)
	g.emit(asm.StoreMem(asm.R10, stackFault, asm.R3, asm.Word), asm.Ja.Label(no))
}

// onValueFault returns where to jump if the value of an aggregate cannot be read, or exceeds the
// kind that all sites have, and what emits the code there, which goes on at lost.
func (g *generator) onValueFault(lost string) (unread, exceeds string, emit func()) {
	in, counted := &g.sig.Aggregate.Value, g.newLabel("counted")
	unread, note := g.onFault(query.ValueInput, counted)
	fails, signs := unread != counted, g.refs.Faults != nil && in.MayExceed()
	if exceeds = lost; signs {
		exceeds = g.newLabel("exceeds")
	}
	if !fails {
		unread = lost
	}
	return unread, exceeds, func() {
		note()
		if signs {
			g.label(exceeds)
			g.emit(asm.Mov.Imm(asm.R3, query.MarkSign))
			g.noteFault(query.ValueInput, counted)
		}
		if fails || signs {
			g.label(counted)
			g.countFault(lost)
		}
	}
}

// noFault says that nothing could not be read until now. The verifier is made to forget that.
func (g *generator) noFault() {
	g.emit(asm.Mov.Imm(asm.R2, 0))
	g.forget(asm.R2)
	g.emit(asm.StoreMem(asm.R10, stackFault, asm.R2, asm.Word))
}

// countFault counts what is at stackFault, if there was a fault, and jumps to done.
func (g *generator) countFault(done string) {
	found := g.newLabel("found")
	g.emit(
		asm.LoadMem(asm.R1, asm.R10, stackFault, asm.Word),
		asm.JEq.Imm(asm.R1, 0, done),
		asm.StoreImm(asm.R10, stackKey, 0, asm.Word),
		asm.Mov.Reg(asm.R1, regContext),
		asm.FnGetAttachCookie.Call(),
		asm.StoreMem(asm.R10, faultKey, asm.R0, asm.Word),
	)
	switch {
	case g.kind.hook.ByTrampoline():
		g.loadFunction(asm.R1)
	case g.kind.hook.HasRegisters():
		g.emit(asm.LoadMem(asm.R1, regContext, g.sig.IP, asm.DWord))
	default:
		g.emit(asm.Mov.Imm(asm.R1, 0))
	}
	g.emit(asm.And.Imm(asm.R1, 0xfff), asm.StoreMem(asm.R10, faultKey+4, asm.R1, asm.Word))
	g.onMap(g.refs.Faults.FD(), asm.FnMapLookupElem, asm.R10, faultKey)
	g.emit(
		asm.JNE.Imm(asm.R0, 0, found),
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R10, stackSum, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, stackSum),
		asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
	)
	g.onMap(g.refs.Faults.FD(), asm.FnMapUpdateElem, asm.R10, faultKey)
	g.onMap(g.refs.Faults.FD(), asm.FnMapLookupElem, asm.R10, faultKey)
	g.emit(asm.JEq.Imm(asm.R0, 0, done))
	g.label(found)
	g.emit(
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Ja.Label(done),
	)
}
