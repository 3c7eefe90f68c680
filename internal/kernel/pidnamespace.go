package kernel

import (
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
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
	id, err := PIDNamespaceID()
	if err != nil || id[1] == initialPIDNamespace {
		return nil
	}
	ns := &PIDNamespace{dev: id[0], inode: id[1]}
	if nested, err := findNestedPIDs(); err == nil && nested.loads(ns) {
		ns.nested = nested
	}
	return ns
}

// PIDNamespaceID returns the device and the inode of this process's PID namespace, as the kernel
// has them.
func PIDNamespaceID() (id [2]uint64, err error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return id, &os.PathError{Op: "stat", Path: "/proc/self/ns/pid", Err: err}
	}
	// The kernel's device numbers have 20 bits for the minor number; stat orders
	// the bits differently.
	return [2]uint64{uint64(unix.Major(st.Dev))<<20 | uint64(unix.Minor(st.Dev)), st.Ino}, nil
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

// nestedPIDs says where the kernel keeps the PIDs of tasks in a PID namespace
// nested in this process's. The helper bpf_get_ns_current_pid_tgid returns only
// the PID in the task's own namespace. A task has a PID in each namespace around
// it, at the namespace's level.
type nestedPIDs struct {
	level int32 // of this process's namespace, the initial one's being 0

	leader, threadPID int16 // in struct task_struct
	taskLevel         int16 // in struct pid
	number, namespace int16 // the PID, and its namespace
	inode             int16 // in struct pid_namespace
}

// findNestedPIDs looks up the kernel's structs, and asks for the level of this
// process's namespace.
func findNestedPIDs() (*nestedPIDs, error) {
	types, err := Types()
	if err != nil {
		return nil, err
	}
	var missing error
	at := func(structure, member string) int16 {
		offset, err := MemberOffset(types, structure, member)
		if err != nil {
			missing = err
		}
		return int16(offset)
	}
	n := &nestedPIDs{
		leader: at("task_struct", "group_leader"), threadPID: at("task_struct", "thread_pid"),
		taskLevel: at("pid", "level"),
		inode:     at("pid_namespace", "ns") + at("ns_common", "inum"),
	}
	numbers, number, namespace := at("pid", "numbers"), at("upid", "nr"), at("upid", "ns")
	var upid *btf.Struct
	if err := types.TypeByName("upid", &upid); err != nil {
		missing = err
	}
	if missing != nil {
		return nil, missing
	}
	if n.level, err = n.ownLevel(); err != nil {
		return nil, err
	}
	entry := numbers + int16(n.level)*int16(upid.Size)
	n.number, n.namespace = entry+number, entry+namespace
	return n, nil
}

// ownLevel asks a program, run in this process, for the level of its namespace.
func (n *nestedPIDs) ownLevel() (int32, error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.RawTracepoint, License: License,
		Instructions: asm.Instructions{
			asm.FnGetCurrentTaskBtf.Call(),
			asm.LoadMem(asm.R1, asm.R0, n.threadPID, asm.DWord),
			asm.LoadMem(asm.R0, asm.R1, n.taskLevel, asm.Word),
			asm.Return(),
		},
	})
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	level, err := prog.Run(&ebpf.RunOptions{})
	return int32(level), err
}

// loads reports whether the kernel lets programs read these PIDs: before Linux
// 6.5 its types declare them as an array of one.
func (n *nestedPIDs) loads(ns *PIDNamespace) bool {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, License: License,
		Instructions: append(n.load(ns.inode), asm.Return()),
	})
	if err != nil {
		return false
	}
	prog.Close()
	return true
}

// load puts the process id, in the upper half, and the thread id into R0, or 0 if
// the task has none in the namespace of that inode. It changes R1 to R5.
func (n *nestedPIDs) load(inode uint64) asm.Instructions {
	return asm.Instructions{
		asm.FnGetCurrentTaskBtf.Call(),
		asm.LoadMem(asm.R1, asm.R0, n.threadPID, asm.DWord),
		asm.LoadMem(asm.R2, asm.R1, n.taskLevel, asm.Word),
		Over(asm.JLT.Imm(asm.R2, n.level, ""), 10),
		asm.LoadMem(asm.R3, asm.R1, n.namespace, asm.DWord),
		asm.LoadMem(asm.R4, asm.R3, n.inode, asm.Word),
		Over(asm.JNE.Imm32(asm.R4, int32(uint32(inode)), ""), 7),
		asm.LoadMem(asm.R5, asm.R1, n.number, asm.Word),
		asm.LoadMem(asm.R0, asm.R0, n.leader, asm.DWord),
		asm.LoadMem(asm.R1, asm.R0, n.threadPID, asm.DWord),
		asm.LoadMem(asm.R0, asm.R1, n.number, asm.Word),
		asm.LSh.Imm(asm.R0, 32),
		asm.Or.Reg(asm.R0, asm.R5),
		Over(asm.Ja.Label(""), 1),
		asm.Mov.Imm(asm.R0, 0),
	}
}

// OwnNumber returns where in a struct pid the kernel keeps the PID that its task has in this
// process's PID namespace, in bytes.
func OwnNumber() (int32, error) {
	n, err := findNestedPIDs()
	if err != nil {
		return 0, err
	}
	return int32(n.number), nil
}
