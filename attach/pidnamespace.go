package attach

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// pidNamespace is the one in which this process counts PIDs, as the kernel's
// helper wants it named.
type pidNamespace struct{ dev, inode uint64 }

// initialPIDNamespace is PROC_PID_INIT_INO, include/linux/proc_ns.h.
const initialPIDNamespace = 0xeffffffc

// ownPIDNamespace returns this process's PID namespace, nil if it is the
// initial one.
func ownPIDNamespace() *pidNamespace {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil || st.Ino == initialPIDNamespace {
		return nil
	}
	// The kernel has 20 bits for the minor number, and stat another order.
	return &pidNamespace{uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)), st.Ino}
}

// loadTask puts the process id, in the upper half, and the thread id into R0. In
// the initial namespace these are what the kernel counts by; in another they are
// those of this process's, or 0 of a task that it does not see. It changes R1
// to R5 and stackSum.
func (g *generator) loadTask() {
	ns := g.maps.namespace
	if ns == nil {
		g.emit(asm.FnGetCurrentPidTgid.Call())
		return
	}
	seen, done := g.newLabel("seen"), g.newLabel("task")
	g.emit(ns.ask(stackSum)...)
	g.emit(
		asm.JEq.Imm(asm.R0, 0, seen),
		asm.Mov.Imm(asm.R0, 0),
		asm.Ja.Label(done),
	)
	g.label(seen)
	g.emit(asm.LoadMem(asm.R0, asm.R10, stackSum, asm.DWord))
	g.label(done)
}

// ask puts the current thread's and process's ids into the 8 bytes of the stack at
// slot (struct bpf_pidns_info), and leaves 0 in R0 if the namespace has them. It
// changes R1 to R5.
func (ns *pidNamespace) ask(slot int32) asm.Instructions {
	return asm.Instructions{
		asm.LoadImm(asm.R1, int64(ns.dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ns.inode), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, slot),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
	}
}
