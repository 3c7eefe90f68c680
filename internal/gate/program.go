package gate

import (
	"fmt"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
)

// Counters, as in Counts.
const (
	counterStops    = 0
	counterUnheld   = 8
	counterReplaced = 16
	counterAlso     = 24
	counterOnly     = 32
	counterForked   = 40
	countersSize    = 48
)

// Entries of the map of counters.
const (
	entryCounts = 0
	entryState  = 1 // state
)

// Members of state.
const (
	stateGuarded = 0
	stateLeft    = 8
)

// pfExiting is PF_EXITING, include/linux/sched.h.
const pfExiting = 4

// stopSignals are the signals that stop a process, as bits.
const stopSignals = 1<<(unix.SIGSTOP-1) | 1<<(unix.SIGTSTP-1) | 1<<(unix.SIGTTIN-1) | 1<<(unix.SIGTTOU-1)

// Stack slots, from the frame pointer.
const (
	stackPID      = -8  // struct bpf_pidns_info: pid, tgid
	stackValue    = -16 // what was read
	stackCounters = -24 // key
)

// builder writes programs.
type builder struct {
	pid       int
	namespace [2]uint64 // the PID namespace of pid: device, inode
	parent    uint32    // this process's id in the initial PID namespace
	counters  *ebpf.Map
	offset    map[string]int32 // of members of the kernel's structs; pid.numbers is that of namespace
}

func newBuilder(pid int, counters *ebpf.Map) (*builder, error) {
	info, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	b := &builder{pid: pid, namespace: [2]uint64{kernelDevice(st.Dev), st.Ino}, counters: counters, offset: map[string]int32{}}
	types, err := kernel.Types()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types: %w: %w", err, ebpf.ErrNotSupported)
	}
	for _, m := range [][2]string{
		{"task_struct", "group_leader"}, {"task_struct", "real_parent"}, {"task_struct", "pdeath_signal"}, {"task_struct", "flags"},
		{"task_struct", "pid"}, {"task_struct", "tgid"}, {"task_struct", "signal"}, {"task_struct", "thread_pid"}, {"signal_struct", "shared_pending"}, {"signal_struct", "pids"}, {"sigpending", "signal"},
	} {
		offset, err := kernel.MemberOffset(types, m[0], m[1])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, ebpf.ErrNotSupported)
		}
		b.offset[m[0]+"."+m[1]] = int32(offset)
	}
	if b.parent, err = ownID(); err != nil {
		return nil, fmt.Errorf("read this process's id: %w", err)
	}
	if b.offset["pid.numbers"], err = kernel.OwnNumber(); err != nil {
		return nil, fmt.Errorf("find this process's PID in the kernel: %w: %w", err, ebpf.ErrNotSupported)
	}
	return b, nil
}

// ownID returns this process's id in the initial PID namespace, which system calls do not return.
func ownID() (uint32, error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "gate_self", Type: ebpf.RawTracepoint, License: kernel.License, Instructions: asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32), asm.Return(),
	}})
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	return prog.Run(&ebpf.RunOptions{})
}

// kernelDevice returns a device as the kernel numbers it within itself
// (include/linux/kdev_t.h, MKDEV).
func kernelDevice(dev uint64) uint64 { return uint64(unix.Major(dev))<<20 | uint64(unix.Minor(dev)) }

// execution returns the program that runs when a process has a new program and
// has executed nothing of it: sched_process_exec(task, old id of the thread,
// binary).
func (b *builder) execution() *ebpf.ProgramSpec {
	code := asm.Instructions{
		asm.LoadMem(asm.R7, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R8, asm.R1, 8, asm.DWord),
		asm.LSh.Imm(asm.R8, 32),
		asm.RSh.Imm(asm.R8, 32),
	}
	code = append(code, b.unlessProcess("exit")...)
	code = append(code, b.read(asm.R7, "pid", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R8, "stop"),
	)
	code = append(code, b.count(counterReplaced)...)
	return &ebpf.ProgramSpec{Name: "gate_execution", Type: ebpf.RawTracepoint, License: kernel.License, Instructions: append(code, b.stop()...)}
}

// fork returns the program that runs when a process has started another one, or a thread:
// sched_process_fork(parent, child), in the parent.
func (b *builder) fork() *ebpf.ProgramSpec {
	code := append(asm.Instructions{asm.LoadMem(asm.R7, asm.R1, 8, asm.DWord)}, b.unlessProcess("exit")...)
	code = append(code, b.read(asm.R7, "pid", 4)...)
	code = append(code, asm.LoadMem(asm.R8, asm.RFP, stackValue, asm.DWord))
	code = append(code, b.read(asm.R7, "tgid", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R8, "exit"),
	)
	code = append(code, b.count(counterForked)...)
	return &ebpf.ProgramSpec{Name: "gate_fork", Type: ebpf.RawTracepoint, License: kernel.License, Instructions: append(code,
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())}
}

// mapped returns the program that runs when the dynamic linker has mapped
// libraries.
func (b *builder) mapped(typ ebpf.AttachType) *ebpf.ProgramSpec {
	code := b.unlessProcess("exit")
	return &ebpf.ProgramSpec{Name: "gate_mapped", Type: ebpf.Kprobe, AttachType: typ, License: kernel.License, Instructions: append(code, b.stop()...)}
}

// stop stops the process, if the kernel or a guard will let it go on when its
// parent ends. It is the end of a program, and has its labels "stop" and "exit".
func (b *builder) stop() asm.Instructions {
	code := asm.Instructions{
		asm.FnGetCurrentTask.Call().WithSymbol("stop"),
		asm.Mov.Reg(asm.R7, asm.R0),
	}
	code = append(code, b.read(asm.R7, "group_leader", 8)...)
	code = append(code, asm.LoadMem(asm.R7, asm.RFP, stackValue, asm.DWord))
	code = append(code, b.read(asm.R7, "pdeath_signal", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.JEq.Imm(asm.R1, int32(unix.SIGCONT), "kept"),
	)
	// The kernel would not let it go on. A guard may.
	code = append(code, b.entry(entryState, "exit")...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.R0, stateGuarded, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "unheld"),
		asm.LoadMem(asm.R1, asm.R0, stateLeft, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "unheld"),
	)
	code = append(code, b.count(counterOnly)...)
	code = append(code, asm.Ja.Label("kept"))
	// A pending signal of somebody else merges with this one.
	signals := b.read(asm.R7, "signal", 8)
	signals[0] = signals[0].WithSymbol("kept")
	code = append(code, signals...)
	code = append(code, asm.LoadMem(asm.R8, asm.RFP, stackValue, asm.DWord))
	code = append(code, readAt(asm.R8, b.offset["signal_struct.shared_pending"]+b.offset["sigpending.signal"], 8)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.LoadImm(asm.R2, stopSignals, asm.DWord),
		asm.And.Reg(asm.R1, asm.R2),
		asm.JEq.Imm(asm.R1, 0, "alone"),
	)
	code = append(code, b.count(counterAlso)...)
	code = append(code, asm.Ja.Label("alone"))
	// Count first: whoever finds the process stopped reads the count.
	stops := b.count(counterStops)
	stops[0] = stops[0].WithSymbol("alone")
	code = append(code, stops...)
	code = append(code,
		asm.Mov.Imm(asm.R1, int32(unix.SIGSTOP)),
		asm.FnSendSignal.Call(),
	)
	// A parent that is ending, or has ended, may have let the process go on
	// before the stop. Check the parent afterwards: if it is not ending yet, it
	// will let the process go on later.
	code = append(code, b.read(asm.R7, "real_parent", 8)...)
	code = append(code, asm.LoadMem(asm.R7, asm.RFP, stackValue, asm.DWord))
	code = append(code, b.read(asm.R7, "tgid", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.JNE.Imm(asm.R1, int32(b.parent), "continue"),
	)
	code = append(code, b.read(asm.R7, "flags", 4)...)
	code = append(code,
		asm.LoadMem(asm.R1, asm.RFP, stackValue, asm.DWord),
		asm.And.Imm(asm.R1, pfExiting),
		asm.JEq.Imm(asm.R1, 0, "exit"),
		asm.Mov.Imm(asm.R1, int32(unix.SIGCONT)).WithSymbol("continue"),
		asm.FnSendSignal.Call(),
		asm.Ja.Label("exit"),
	)
	unheld := b.count(counterUnheld)
	unheld[0] = unheld[0].WithSymbol("unheld")
	code = append(code, unheld...)
	return append(code, asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"), asm.Return())
}

// unlessProcess jumps unless the current process is the builder's. The id is the
// one in this process's PID namespace, which its children share.
func (b *builder) unlessProcess(other string) asm.Instructions {
	return append(b.own(other), asm.JNE.Imm(asm.R1, int32(b.pid), other))
}

// own puts the id of the current process into R1, or jumps if it has none.
func (b *builder) own(other string) asm.Instructions {
	return asm.Instructions{
		asm.LoadImm(asm.R1, int64(b.namespace[0]), asm.DWord),
		asm.LoadImm(asm.R2, int64(b.namespace[1]), asm.DWord),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, stackPID),
		asm.Mov.Imm(asm.R4, 8),
		asm.FnGetNsCurrentPidTgid.Call(),
		asm.JNE.Imm(asm.R0, 0, other),
		asm.LoadMem(asm.R1, asm.RFP, stackPID+4, asm.Word),
	}
}

// read puts a task's member of size bytes into the slot of values, whose other
// bytes become zero.
func (b *builder) read(task asm.Register, member string, size int32) asm.Instructions {
	return readAt(task, b.offset["task_struct."+member], size)
}

func readAt(base asm.Register, offset, size int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, stackValue, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, stackValue),
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R3, base),
		asm.Add.Imm(asm.R3, offset),
		asm.FnProbeReadKernel.Call(),
	}
}

// count adds one to a counter.
func (b *builder) count(counter int16) asm.Instructions {
	return append(b.entry(entryCounts, "exit"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, counter),
	)
}

// entry puts the address of an entry of the map of counters into R0.
func (b *builder) entry(key int64, missing string) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, stackCounters, key, asm.Word),
		asm.LoadMapPtr(asm.R1, b.counters.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, stackCounters),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, missing),
	}
}
