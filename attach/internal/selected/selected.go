// Package selected has the instructions by which a program leaves out processes that are not
// selected, by what the kernel knows of them.
package selected

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
)

// CommSize is TASK_COMM_LEN, include/linux/sched.h, with the NUL.
const CommSize = 16

// Room is how much of the stack the instructions of Only change.
const Room = CommSize

// Processes says which processes are traced, by what the kernel knows about a
// process when a probe fires in it, so that it does not matter when the process
// starts.
type Processes struct {
	Comm string           // of the first thread; "" for any
	Exe  *ebpf.Map        // device and number of the executable's struct inode; nil for any
	At   map[string]int32 // offsets in the kernel's structs
	// Cgroup has the id of a control group of version 2, and how far it is below the root, of 8
	// bytes each; nil for any.
	Cgroup *ebpf.Map
	// Cgroups selects control groups, of which one contains the process; nil for any.
	Cgroups *cgroups.Watch
}

// Only returns instructions that jump to exit in processes that are not selected, none if s is
// nil. The context is in the register and in R1, where it is kept. They change R0 to R8, and Room
// bytes below the stack's slot. Nothing else in a program is named "within".
func (s *Processes) Only(context asm.Register, slot int16, exit string) (ins asm.Instructions) {
	if s == nil {
		return nil
	}
	emit := func(more ...asm.Instruction) { ins = append(ins, more...) }
	if s.Cgroup != nil {
		emit(
			asm.LoadMapValue(asm.R7, s.Cgroup.FD(), 0),
			asm.LoadMem(asm.R1, asm.R7, 8, asm.DWord),
			asm.FnGetCurrentAncestorCgroupId.Call(), // 0 if the task's own group is above the level
			asm.LoadMem(asm.R1, asm.R7, 0, asm.DWord),
			asm.JNE.Reg(asm.R0, asm.R1, exit),
			asm.Mov.Reg(asm.R1, context),
		)
	}
	if s.Cgroups != nil {
		emit(s.Cgroups.Within(slot-8, "within", exit)...)
		emit(asm.Mov.Reg(asm.R1, context).WithSymbol("within"))
	}
	if s.Comm == "" && s.Exe == nil {
		return ins
	}
	slot -= Room
	read := func(offset int32, size int32) {
		emit(
			asm.Mov.Imm(asm.R1, 0),
			asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord),
			asm.StoreMem(asm.R10, slot+8, asm.R1, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R10),
			asm.Add.Imm(asm.R1, int32(slot)),
			asm.Mov.Imm(asm.R2, size),
			asm.Mov.Reg(asm.R3, asm.R7),
			asm.Add.Imm(asm.R3, offset),
			asm.FnProbeReadKernel.Call(),
		)
	}
	follow := func(member string) {
		read(s.At[member], 8)
		emit(asm.LoadMem(asm.R7, asm.R10, slot, asm.DWord))
	}
	differs := func(off int16, want ...asm.Instruction) { // in R2
		emit(want...)
		emit(
			asm.LoadMem(asm.R1, asm.R10, slot+off, asm.DWord),
			asm.JNE.Reg(asm.R1, asm.R2, exit),
		)
	}
	word := func(b []byte) asm.Instruction {
		return asm.LoadImm(asm.R2, int64(binary.NativeEndian.Uint64(b)), asm.DWord)
	}
	if s.Comm != "" {
		emit(asm.FnGetCurrentTask.Call(), asm.Mov.Reg(asm.R7, asm.R0))
		follow("group_leader")
		var name [CommSize]byte
		copy(name[:], s.Comm)
		// Bytes of an earlier, longer name may remain behind the NUL.
		read(s.At["comm"], int32(len(s.Comm)+1))
		differs(0, word(name[:]))
		differs(8, word(name[8:]))
	}
	if s.Exe != nil {
		emit(
			asm.StoreImm(asm.R10, slot, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, s.Exe.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, int32(slot)),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, exit),
			asm.Mov.Reg(asm.R8, asm.R0),
		)
		// All threads have one memory, and the first one has none once it has ended.
		emit(asm.FnGetCurrentTask.Call(), asm.Mov.Reg(asm.R7, asm.R0))
		for _, member := range []string{"mm", "exe_file", "f_inode"} {
			follow(member)
		}
		read(s.At["i_ino"], 8)
		differs(0, asm.LoadMem(asm.R2, asm.R8, 8, asm.DWord))
		follow("i_sb")
		read(s.At["s_dev"], 4)
		differs(0, asm.LoadMem(asm.R2, asm.R8, 0, asm.DWord))
	}
	emit(asm.Mov.Reg(asm.R1, context))
	return ins
}
