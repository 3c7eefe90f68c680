package kernel

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

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
	types, err := btf.LoadKernelSpec()
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
