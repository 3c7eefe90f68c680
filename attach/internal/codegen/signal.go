package codegen

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Signals says which processes programs may send signals to, and how many.
type Signals struct {
	// Map has, by PID, the processes that may have been stopped, and under SignalsState, which is
	// no process, how many signals are left. Programs send none once it has SignalsOver.
	Map *ebpf.Map
	// Spared are processes that get none, as the kernel numbers them in the initial namespace.
	Spared []uint32
	// User is the only user whose processes get one; -1 for all.
	User int64
}

// Keys of Signals.Map that are no processes: none of PID 1 is sent a signal.
const (
	SignalsState = 0 // i64: how many are left; u64: programs that are about to send one
	SignalsOver  = 1
)

// SignalsSpec describes Signals.Map for so many signals.
func SignalsSpec(times int) *ebpf.MapSpec {
	return &ebpf.MapSpec{
		Name: "usdt_signals", Type: ebpf.Hash, KeySize: 4, ValueSize: signalsSize, MaxEntries: uint32(times) + 2,
		Contents: []ebpf.MapKV{{Key: uint32(SignalsState), Value: [2]uint64{uint64(times), 0}}},
	}
}

const (
	signalsLeft = 0
	signalsBusy = 8
	signalsSize = 16
)

// Stack slots: a key of Signals.Map, and a value, which takes two: the bits of
// failed reads are in the record by then.
const (
	stackPID    = stackKey
	stackSignal = stackErrors
)

// takeSignal takes one of the signals that are left, or jumps to unwanted if the process may not
// be sent one. Between takeSignal and sendSignal, or dropSignal, a program does not sleep. It changes R0
// to R5, stackPID and stackSum.
func (g *generator) takeSignal(unwanted string) {
	s := g.refs.Signals
	if g.sig.Signal == 0 {
		return
	}
	if s.User >= 0 {
		g.emit(
			asm.FnGetCurrentUidGid.Call(),
			asm.Mov.Reg32(asm.R0, asm.R0),
			asm.LoadImm(asm.R1, s.User, asm.DWord),
			asm.JNE.Reg(asm.R0, asm.R1, unwanted),
		)
	}
	g.emit(asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32))
	for _, id := range s.Spared {
		g.emit(asm.JEq.Imm(asm.R0, int32(id), unwanted))
	}
	g.loadTask()
	over, taken := g.newLabel("over"), g.newLabel("taken")
	g.emit(
		asm.RSh.Imm(asm.R0, 32),
		asm.JLE.Imm(asm.R0, 1, unwanted), // init, or a process that has no number here
	)
	g.signals(SignalsState)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, unwanted),
		asm.LoadMem(asm.R1, asm.R0, signalsLeft, asm.DWord),
		asm.JSLE.Imm(asm.R1, 0, unwanted),
		asm.Mov.Imm(asm.R1, 1), fetchAdd(asm.R0, asm.R1, signalsBusy),
	)
	g.signals(SignalsOver)
	g.emit(asm.JNE.Imm(asm.R0, 0, over))
	g.signals(SignalsState)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, unwanted), // for the verifier
		asm.Mov.Imm(asm.R1, -1), fetchAdd(asm.R0, asm.R1, signalsLeft),
		asm.JSGT.Imm(asm.R1, 0, taken),
	)
	g.addSignal(signalsLeft, 1)
	g.label(over)
	g.addSignal(signalsBusy, -1)
	g.emit(asm.Ja.Label(unwanted))
	g.label(taken)
}

// dropSignal gives back the signal that takeSignal has taken. It changes R0 to R5.
func (g *generator) dropSignal() {
	if g.sig.Signal == 0 {
		return
	}
	g.addSignal(signalsLeft, 1)
	g.addSignal(signalsBusy, -1)
}

// sendSignal sends the process the signal. A process that may stop is noted first, so that
// whoever lets it go on finds it. It changes R0 to R5.
func (g *generator) sendSignal() {
	if g.sig.Signal == 0 {
		return
	}
	sent := g.newLabel("sent")
	failed := g.newLabel("failed")
	if g.sig.Signal.Stops() {
		g.loadTask()
		g.emit(
			asm.RSh.Imm(asm.R0, 32),
			asm.StoreMem(asm.R10, stackPID, asm.R0, asm.Word),
			asm.Mov.Imm(asm.R0, 0),
			asm.StoreMem(asm.R10, stackSignal, asm.R0, asm.DWord), asm.StoreMem(asm.R10, stackSignal+8, asm.R0, asm.DWord),
			asm.LoadMapPtr(asm.R1, g.refs.Signals.Map.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackPID),
			asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, stackSignal),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnMapUpdateElem.Call(),
			asm.JNE.Imm(asm.R0, 0, failed),
		)
	}
	g.emit(
		asm.Mov.Imm(asm.R1, int32(g.sig.Signal)),
		asm.FnSendSignal.Call(),
		asm.JEq.Imm(asm.R0, 0, sent),
	)
	g.label(failed)
	g.addSignal(signalsLeft, 1)
	g.label(sent)
	g.addSignal(signalsBusy, -1)
}

// addSignal adds to a member of the state.
func (g *generator) addSignal(member int16, n int32) {
	none := g.newLabel("none")
	g.signals(SignalsState)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, none),
		asm.Mov.Imm(asm.R1, n), fetchAdd(asm.R0, asm.R1, member),
	)
	g.label(none)
}

// signals puts the address of an entry of the map, which may be 0, into R0.
func (g *generator) signals(key int64) {
	g.emit(
		asm.StoreImm(asm.R10, stackPID, key, asm.Word),
		asm.LoadMapPtr(asm.R1, g.refs.Signals.Map.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackPID),
		asm.FnMapLookupElem.Call(),
	)
}
