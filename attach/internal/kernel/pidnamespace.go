package kernel

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// PIDNamespace is the PID namespace of this process, identified as the kernel's
// helper requires.
type PIDNamespace struct {
	dev, inode uint64
	nested     *nestedPIDs // nil if this kernel does not give the PIDs of nested namespaces
}

// initialPIDNamespace is PROC_PID_INIT_INO, include/linux/proc_ns.h.
const initialPIDNamespace = 0xeffffffc

// OwnPIDNamespace returns this process's PID namespace, nil if it is the
// initial one.
func OwnPIDNamespace() *PIDNamespace {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil || st.Ino == initialPIDNamespace {
		return nil
	}
	// The kernel's device numbers have 20 bits for the minor number; stat orders
	// the bits differently.
	ns := &PIDNamespace{dev: uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)), inode: st.Ino}
	if nested, err := findNestedPIDs(); err == nil && nested.loads(ns) {
		ns.nested = nested
	}
	return ns
}

// TellsNested reports whether [PIDNamespace.Load] finds the PIDs of processes in
// nested namespaces.
func (ns *PIDNamespace) TellsNested() bool { return ns == nil || ns.nested != nil }

// Load puts the process id, in the upper half, and the thread id into R0. It changes
// R1 to R5 and the 8 bytes of the stack at slot. Its jumps are relative, so that
// the code fits into other programs. A nil namespace is the initial one.
func (ns *PIDNamespace) Load(slot int16) asm.Instructions {
	if ns == nil {
		return asm.Instructions{asm.FnGetCurrentPidTgid.Call()}
	}
	elsewhere := asm.Instructions{asm.Mov.Imm(asm.R0, 0)}
	if ns.nested != nil {
		elsewhere = ns.nested.load(ns.inode)
	}
	code := asm.Instructions{
		asm.LoadImm(asm.R1, int64(ns.dev), asm.DWord),
		asm.LoadImm(asm.R2, int64(ns.inode), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, int32(slot)),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		Over(asm.JNE.Imm(asm.R0, 0, ""), 2),
		asm.LoadMem(asm.R0, asm.R10, slot, asm.DWord), // struct bpf_pidns_info
		Over(asm.Ja.Label(""), int16(len(elsewhere))),
	}
	return append(code, elsewhere...)
}
