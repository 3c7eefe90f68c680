package codegen

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/internal/kernel"
)

// onlyProcesses ends the program in processes that are not traced.
func (g *generator) onlyProcesses() {
	if g.refs.Processes == nil {
		return
	}
	g.loadTask()
	g.emit(
		asm.RSh.Imm(asm.R0, 32),
		asm.StoreMem(asm.R10, stackKey, asm.R0, asm.Word),
		asm.LoadMapPtr(asm.R1, g.refs.Processes.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
	)
	if g.refs.Lifetimes {
		// These registers hold nothing yet.
		g.emit(
			asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord),
			asm.LoadMem(asm.R8, asm.R0, 8, asm.DWord),
		)
		g.emit(kernel.LoadStartTime(asm.R1)...)
		g.emit(
			asm.Sub.Reg(asm.R1, asm.R7),
			asm.JGE.Reg(asm.R1, asm.R8, "exit"),
		)
	}
	g.emit(asm.Mov.Reg(asm.R1, regContext)) // as it was before
}

// CommSize is TASK_COMM_LEN, include/linux/sched.h, with the NUL.
const CommSize = 16

// Selected says which processes are traced, by what the kernel knows about a
// process when a probe fires in it, so that it does not matter when the process
// starts.
type Selected struct {
	Comm string           // of the first thread; "" for any
	Exe  *ebpf.Map        // device and number of the executable's struct inode; nil for any
	At   map[string]int32 // offsets in the kernel's structs
	// Cgroup is the id of a control group of version 2, and Level how far it is below the
	// root; 0 for any.
	Cgroup uint64
	Level  int32
	// Cgroups has the ids of control groups of version 2, of which one contains the process;
	// nil for any.
	Cgroups *ebpf.Map
}

// onlySelected ends the program in processes that are not selected. It keeps the
// context in R1, and comes before anything is on the stack.
func (g *generator) onlySelected() {
	s := g.refs.Selected
	if s == nil {
		return
	}
	if s.Cgroup != 0 {
		g.emit(
			asm.Mov.Imm(asm.R1, s.Level),
			asm.FnGetCurrentAncestorCgroupId.Call(), // 0 if the task's own group is above the level
			asm.LoadImm(asm.R1, int64(s.Cgroup), asm.DWord),
			asm.JNE.Reg(asm.R0, asm.R1, "exit"),
			asm.Mov.Reg(asm.R1, regContext),
		)
	}
	if s.Cgroups != nil {
		g.emit(cgroups.Within(s.Cgroups, stackSlots-8, "within", "exit")...)
		g.emit(asm.Mov.Reg(asm.R1, regContext).WithSymbol("within"))
	}
	if s.Comm == "" && s.Exe == nil {
		return
	}
	const slot = stackSlots - CommSize
	read := func(offset int32, size int32) {
		g.emit(
			asm.Mov.Imm(asm.R1, 0),
			asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord),
			asm.StoreMem(asm.R10, slot+8, asm.R1, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R10),
			asm.Add.Imm(asm.R1, slot),
			asm.Mov.Imm(asm.R2, size),
			asm.Mov.Reg(asm.R3, asm.R7),
			asm.Add.Imm(asm.R3, offset),
			asm.FnProbeReadKernel.Call(),
		)
	}
	follow := func(member string) {
		read(s.At[member], 8)
		g.emit(asm.LoadMem(asm.R7, asm.R10, slot, asm.DWord))
	}
	differs := func(off int16, want ...asm.Instruction) { // in R2
		g.emit(want...)
		g.emit(
			asm.LoadMem(asm.R1, asm.R10, slot+off, asm.DWord),
			asm.JNE.Reg(asm.R1, asm.R2, "exit"),
		)
	}
	word := func(b []byte) asm.Instruction {
		return asm.LoadImm(asm.R2, int64(binary.NativeEndian.Uint64(b)), asm.DWord)
	}
	g.emit(asm.FnGetCurrentTask.Call(), asm.Mov.Reg(asm.R7, asm.R0))
	follow("group_leader")
	if s.Comm != "" {
		var name [CommSize]byte
		copy(name[:], s.Comm)
		// Bytes of an earlier, longer name may remain behind the NUL.
		read(s.At["comm"], int32(len(s.Comm)+1))
		differs(0, word(name[:]))
		differs(8, word(name[8:]))
	}
	if s.Exe != nil {
		g.emit(
			asm.StoreImm(asm.R10, slot, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, s.Exe.FD()),
			asm.Mov.Reg(asm.R2, asm.R10),
			asm.Add.Imm(asm.R2, slot),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
			asm.Mov.Reg(asm.R8, asm.R0),
		)
		for _, member := range []string{"mm", "exe_file", "f_inode"} {
			follow(member)
		}
		read(s.At["i_ino"], 8)
		differs(0, asm.LoadMem(asm.R2, asm.R8, 8, asm.DWord))
		follow("i_sb")
		read(s.At["s_dev"], 4)
		differs(0, asm.LoadMem(asm.R2, asm.R8, 0, asm.DWord))
	}
	g.emit(asm.Mov.Reg(asm.R1, regContext))
}
