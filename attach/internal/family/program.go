package family

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/kernel"
)

// Stack slots, from the frame pointer.
const (
	stackKey    = -8
	stackValue  = -24 // start, within
	stackRead   = -32
	stackNumber = -40
)

const forkName = "usdt_fork"

// builder writes programs.
type builder struct {
	table     *ebpf.Map
	ends      *ebpf.Map            // see end
	namespace *kernel.PIDNamespace // whose PIDs are meant
	lifetimes bool                 // programs can read when a process was started
	number    int32                // of the PID in this process's namespace, in a struct pid
	at        map[string]int32     // members of the kernel's structs
}

func newBuilder(table, ends *ebpf.Map) (*builder, error) {
	b := &builder{table: table, ends: ends, namespace: kernel.OwnPIDNamespace(), lifetimes: kernel.StartTimes.Require() == nil, at: map[string]int32{}}
	types, err := kernel.Types()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types, to follow children: %w", err)
	}
	for _, m := range [][2]string{
		{"task_struct", "pid"}, {"task_struct", "tgid"}, {"task_struct", "thread_pid"}, {"task_struct", "start_boottime"},
		{"task_struct", "signal"}, {"signal_struct", "live"},
	} {
		offset, err := kernel.MemberOffset(types, m[0], m[1])
		if err != nil {
			return nil, fmt.Errorf("follow children: %w", err)
		}
		b.at[m[1]] = int32(offset)
	}
	if b.number, err = kernel.OwnNumber(); err != nil {
		return nil, fmt.Errorf("follow children: %w", err)
	}
	return b, nil
}

func (b *builder) program(name string, code asm.Instructions) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{Name: name, Type: ebpf.RawTracepoint, License: kernel.License, Instructions: append(code,
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return(),
	)}
}

// fork returns the program that runs when a process has a child that has not run yet:
// sched_process_fork(parent, child), in the parent. One of several copies counts children that do
// not fit.
func (b *builder) fork(counting bool) *ebpf.ProgramSpec {
	code := asm.Instructions{asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord)}
	code = append(code, b.read(stackRead, asm.R6, "pid", 4)...)
	code = append(code, b.read(stackNumber, asm.R6, "tgid", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.R10, stackRead, asm.DWord),
		asm.LoadMem(asm.R2, asm.R10, stackNumber, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, "exit"), // a thread
	)
	code = append(code, b.current(b.lifetimes)...)
	code = append(code, b.read(stackRead, asm.R6, "thread_pid", 8)...)
	code = append(code, asm.LoadMem(asm.R8, asm.R10, stackRead, asm.DWord))
	code = append(code, readAt(stackKey, asm.R8, b.number, 4)...)
	code = append(code, b.read(stackValue, asm.R6, "start_boottime", 8)...)
	code = append(code, store(stackValue+8, 1)...)
	if !b.lifetimes { // it fits any
		code = append(code, store(stackValue, 0)...)
		code = append(code, store(stackValue+8, -1)...)
	}
	code = append(code,
		asm.LoadMapPtr(asm.R1, b.table.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackKey),
		asm.Mov.Reg(asm.R3, asm.R10), asm.Add.Imm(asm.R3, stackValue),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
		asm.Mov.Reg(asm.R9, asm.R0),
	)
	if !counting {
		code = append(code, asm.JNE.Imm(asm.R9, 0, "exit"))
	}
	code = append(code, store(stackKey, counts)...)
	return b.program(forkName, append(code,
		asm.LoadMapPtr(asm.R1, b.table.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Imm(asm.R1, 1),
		asm.JNE.Imm(asm.R9, 0, "full"),
		asm.Add.Imm(asm.R0, 8),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0).WithSymbol("full"),
	))
}

// exit returns the program that runs when a thread ends, which has its PID until later:
// sched_process_exit(task). The last one reports the process. It strikes it out where later
// processes are not told apart, or if the report does not fit.
func (b *builder) exit() *ebpf.ProgramSpec {
	code := asm.Instructions{asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord)}
	code = append(code, b.current(b.lifetimes)...) // R7 is when it was started
	if b.lifetimes {
		code = append(code, asm.StoreMem(asm.R10, stackValue+8, asm.R7, asm.DWord))
	}
	code = append(code, b.read(stackRead, asm.R6, "signal", 8)...)
	code = append(code, asm.LoadMem(asm.R8, asm.R10, stackRead, asm.DWord))
	code = append(code, readAt(stackRead, asm.R8, b.at["live"], 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.R10, stackRead, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "exit"),
	)
	if b.lifetimes {
		code = append(code,
			asm.LoadMem(asm.R1, asm.R10, stackKey, asm.Word),
			asm.StoreMem(asm.R10, stackValue, asm.R1, asm.DWord),
			asm.LoadMapPtr(asm.R1, b.ends.FD()),
			asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackValue),
			asm.Mov.Imm(asm.R3, 0),
			asm.FnMapPushElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "exit"),
		)
	}
	return b.program("usdt_exit", append(code,
		asm.LoadMapPtr(asm.R1, b.table.FD()),
		asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, stackKey),
		asm.FnMapDeleteElem.Call(),
	))
}

// current ends the program unless the current process is one of the table, and makes its PID the key.
// It keeps R6.
func (b *builder) current(lifetimes bool) asm.Instructions {
	code := append(b.namespace.Load(stackKey),
		asm.RSh.Imm(asm.R0, 32),
		asm.JEq.Imm(asm.R0, 0, "exit"), // of another namespace
	)
	return append(code, process.InTable(b.table, lifetimes, stackKey, "exit")...)
}

// read puts a member of size bytes of a task into a slot.
func (b *builder) read(slot int32, task asm.Register, member string, size int32) asm.Instructions {
	return readAt(slot, task, b.at[member], size)
}

func readAt(slot int32, base asm.Register, offset, size int32) asm.Instructions {
	return append(store(int16(slot), 0),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, slot),
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R3, base), asm.Add.Imm(asm.R3, offset),
		asm.FnProbeReadKernel.Call(),
	)
}

// store puts a number into a slot.
func store(slot int16, n int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R1, n), asm.StoreMem(asm.R10, slot, asm.R1, asm.DWord)}
}
