package gate

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Stack slots, beside the builder's.
const (
	stackEvent   = -32 // the key of members, and whether a program was executed
	stackOne     = -40
	stackSession = -48
)

// Places in signal_struct.pids, enum pid_type of include/linux/pid_types.h.
const (
	placeGroup   = 2 * 8
	placeSession = 3 * 8
)

// stop returns a program that stops the current process if it is a member, and another one
// than that of the builder. It does not, and counts that, if nobody would let the process go on,
// if another signal is about to stop it, or if it is a job of a shell, which would take the
// terminal away from a job that stops. A shell that has started a member is a member. Another
// parent has adopted an orphan, and does not wait for its stops.
func (f *Family) stop(executed bool) asm.Instructions {
	b := f.builder
	event := int64(0)
	if executed {
		event = 1
	}
	code := append(b.own("exit"),
		asm.JEq.Imm(asm.R1, int32(b.pid), "exit"),
		asm.StoreMem(asm.RFP, stackEvent, asm.R1, asm.Word),
		asm.StoreImm(asm.RFP, stackEvent+4, event, asm.Word),
		asm.LoadMapPtr(asm.R1, f.members.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackEvent),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
	)
	code = append(code, b.entry(entryState, "exit")...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.R0, stateGuarded, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "unheld"),
		asm.LoadMem(asm.R1, asm.R0, stateLeft, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "unheld"),
		asm.FnGetCurrentTask.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
	)
	value := func(dst asm.Register) { code = append(code, asm.LoadMem(dst, asm.RFP, stackValue, asm.DWord)) }
	member := func(dst, task asm.Register, name string) {
		code = append(code, b.read(task, name, 8)...)
		value(dst)
	}
	place := func(dst, signal asm.Register, place int32) {
		code = append(code, readAt(signal, b.offset["signal_struct.pids"]+place, 8)...)
		value(dst)
	}
	member(asm.R8, asm.R7, "signal")
	code = append(code, readAt(asm.R8, b.offset["signal_struct.shared_pending"]+b.offset["sigpending.signal"], 8)...)
	value(asm.R1)
	code = append(code,
		asm.LoadImm(asm.R2, stopSignals, asm.DWord),
		asm.And.Reg(asm.R1, asm.R2),
		asm.JNE.Imm(asm.R1, 0, "unheld"),
	)
	place(asm.R9, asm.R8, placeSession)
	code = append(code, asm.StoreMem(asm.RFP, stackSession, asm.R9, asm.DWord))
	place(asm.R9, asm.R8, placeGroup)
	member(asm.R7, asm.R7, "real_parent")
	member(asm.R8, asm.R7, "signal")
	place(asm.R1, asm.R8, placeGroup)
	code = append(code, asm.JEq.Reg(asm.R1, asm.R9, "stop"))
	place(asm.R1, asm.R8, placeSession)
	code = append(code,
		asm.LoadMem(asm.R2, asm.RFP, stackSession, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, "stop"),
	)
	member(asm.R8, asm.R7, "group_leader")
	member(asm.R7, asm.R8, "thread_pid")
	code = append(code, readAt(asm.R7, b.offset["pid.numbers"], 4)...)
	code = append(code,
		asm.LoadMapPtr(asm.R1, f.members.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackValue),
		asm.FnMapLookupElem.Call(),
		asm.JNE.Imm(asm.R0, 0, "unheld"),
		// The guard must know before the process stops, and this process after that: it may
		// continue the process at once.
		asm.StoreImm(asm.RFP, stackOne, 1, asm.Word).WithSymbol("stop"),
		asm.LoadMapPtr(asm.R1, f.guard.stopped.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackEvent),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, stackOne),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.JNE.Imm(asm.R0, 0, "unheld"),
		asm.Mov.Imm(asm.R1, int32(unix.SIGSTOP)),
		asm.FnSendSignal.Call(),
		asm.JNE.Imm(asm.R0, 0, "unheld"),
		asm.LoadMapPtr(asm.R1, f.events.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackEvent),
		asm.Mov.Imm(asm.R3, 8),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Imm(asm.R1, int32(unix.SIGCONT)), // nobody learns of it
		asm.FnSendSignal.Call(),
	)
	unheld := b.count(counterUnheld)
	unheld[0] = unheld[0].WithSymbol("unheld")
	code = append(code, unheld...)
	return append(code, asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())
}
