package semaphore

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/kernel"
)

// How long a process that starts waits for its semaphores: much longer than the tracer
// takes unless others have the CPU. A program that may not sleep keeps a CPU from it.
const (
	patience = 250 * time.Millisecond
	awake    = 10 * time.Millisecond
)

// The stack: what the callback gets is one struct.
const (
	stackByte  = -8
	stackValue = -16
	stackCall  = -32 // struct call
	stackWait  = -56 // the callback's: address, count, deadline
)

// call is a record: a process needs semaphores raised.
type call struct {
	PID, File uint32
	Bias      uint64 // of addresses in the process over the addresses in the file
}

const callSize = 16

// wentOn is added to call.File when the process has waited in vain.
const wentOn = 1 << 31

// Registers of the program.
const (
	regBias  = asm.R6
	regCount = asm.R7
	regWrong = asm.R8 // whether a semaphore is too low
)

// maxWaits bounds the rounds of waiting, as bpf_loop wants (BPF_MAX_LOOPS).
const maxWaits = 1 << 23

// assembler puts a program together.
type assembler struct {
	insns  asm.Instructions
	label  string // of the next instruction
	sleeps bool
}

func (a *assembler) emit(more ...asm.Instruction) {
	if a.label != "" {
		more[0] = more[0].WithSymbol(a.label)
		a.label = ""
	}
	a.insns = append(a.insns, more...)
}

// address puts an address in the process into a register.
func (a *assembler) address(r asm.Register, addr uint64) {
	a.emit(asm.LoadImm(r, int64(addr), asm.DWord), asm.Add.Reg(r, regBias))
}

// read reads memory at the address in R3, and jumps if it cannot. A program that may
// sleep gets memory that is not there yet.
func (a *assembler) read(stack int16, size int32, failed string) {
	fn := asm.FnProbeReadUser
	if a.sleeps {
		fn = asm.FnCopyFromUser
	}
	a.readBy(fn, stack, size, failed)
}

func (a *assembler) readBy(fn asm.BuiltinFunc, stack int16, size int32, failed string) {
	a.emit(
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, int32(stack)),
		fn.Call(),
		asm.JNE.Imm(asm.R0, 0, failed),
	)
}

// load loads a program for links of a type on the starts, each with its address as
// cookie. If a semaphore is lower than the number of breakpoints at its sites, it calls
// the keeper by the ring and waits.
func (f *File) load(number int, ring *ebpf.Map, typ ebpf.ProgramType, attach ebpf.AttachType) (*ebpf.Program, error) {
	prog, err := f.loadWaiting(number, ring, typ, attach, true)
	if err != nil { // Linux before 5.17 has no loops
		if prog, err := f.loadWaiting(number, ring, typ, attach, false); err == nil {
			return prog, nil
		}
	}
	return prog, err
}

func (f *File) loadWaiting(number int, ring *ebpf.Map, typ ebpf.ProgramType, attach ebpf.AttachType, waits bool) (*ebpf.Program, error) {
	a := &assembler{sleeps: kernel.Sleepable.Require() == nil}
	a.emit(
		function(asm.LoadMem(regBias, asm.R1, f.ip, asm.DWord), "semaphores", "int", "ctx"),
		asm.FnGetAttachCookie.Call(),
		asm.Sub.Reg(regBias, asm.R0),
		asm.Mov.Imm(regWrong, 0),
	)
	for i := range f.counters {
		c := &f.counters[i]
		next := fmt.Sprint("counter", i+1)
		a.emit(asm.Mov.Imm(regCount, 0))
		for j := range c.places {
			skip := fmt.Sprint("place", i, "-", j)
			a.address(asm.R3, c.places[j].address)
			a.read(stackByte, 1, skip)
			a.emit(
				asm.LoadMem(asm.R1, asm.R10, stackByte, asm.Byte),
				asm.JEq.Imm(asm.R1, int32(c.places[j].original), skip),
				asm.Add.Imm(regCount, 1),
			)
			a.label = skip
		}
		missing := fmt.Sprint("missing", i)
		a.address(asm.R3, c.address)
		a.read(stackValue, 2, missing)
		a.label = missing // zero then: nobody has raised it
		a.emit(
			asm.LoadMem(asm.R1, asm.R10, stackValue, asm.Half),
			asm.JGE.Reg(asm.R1, regCount, next),
			asm.Mov.Imm(regWrong, 1),
			asm.StoreMem(asm.R10, stackWait+8, regCount, asm.DWord),
		)
		a.address(asm.R1, c.address)
		a.emit(asm.StoreMem(asm.R10, stackWait, asm.R1, asm.DWord))
		a.label = next
	}
	a.emit(asm.JEq.Imm(regWrong, 0, "exit"))
	a.emit(kernel.OwnPIDNamespace().Load(stackByte)...)
	a.emit(
		asm.RSh.Imm(asm.R0, 32),
		asm.JEq.Imm(asm.R0, 0, "exit"), // a process that the keeper does not see
		asm.StoreMem(asm.R10, stackCall, asm.R0, asm.Word),
		asm.StoreImm(asm.R10, stackCall+4, int64(number), asm.Word),
		asm.StoreMem(asm.R10, stackCall+8, regBias, asm.DWord),
		asm.FnKtimeGetNs.Call(),
		asm.LoadImm(asm.R1, int64(waitOf(a.sleeps)), asm.DWord),
		asm.Add.Reg(asm.R0, asm.R1),
		asm.StoreMem(asm.R10, stackWait+16, asm.R0, asm.DWord),
	)
	a.call(ring)
	if waits {
		callback := asm.LoadImm(asm.R2, -1, asm.DWord).WithReference(awaitRaise)
		callback.Src = asm.PseudoFunc
		a.emit(
			asm.Mov.Imm(asm.R1, maxWaits),
			callback,
			asm.Mov.Reg(asm.R3, asm.R10),
			asm.Add.Imm(asm.R3, stackWait),
			asm.Mov.Imm(asm.R4, 0),
			asm.FnLoop.Call(),
		)
	}
	a.emit(asm.LoadMem(asm.R3, asm.R10, stackWait, asm.DWord))
	a.read(stackValue, 2, "exit")
	a.emit(
		asm.LoadMem(asm.R1, asm.R10, stackValue, asm.Half),
		asm.LoadMem(asm.R2, asm.R10, stackWait+8, asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R2, "exit"),
		asm.LoadImm(asm.R1, int64(number)|wentOn, asm.DWord),
		asm.StoreMem(asm.R10, stackCall+4, asm.R1, asm.Word),
	)
	a.call(ring)
	a.label = "exit"
	a.emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
	if waits {
		a.awaiting()
	}
	spec := &ebpf.ProgramSpec{
		Name: "usdt_semaphores", Type: typ, AttachType: attach, Instructions: a.insns, License: kernel.License,
	}
	if a.sleeps {
		spec.Flags |= unix.BPF_F_SLEEPABLE
	}
	return ebpf.NewProgram(spec)
}

// call sends the call to the keeper.
func (a *assembler) call(ring *ebpf.Map) {
	a.emit(
		asm.LoadMapPtr(asm.R1, ring.FD()),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, stackCall),
		asm.Mov.Imm(asm.R3, callSize),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnRingbufOutput.Call(),
	)
}

func waitOf(sleeps bool) time.Duration {
	if sleeps {
		return patience
	}
	return awake
}

// awaitRaise is the name of the callback that waits.
const awaitRaise = "await_raise"

// awaiting adds a round of waiting. It returns 1 to end it: when the semaphore has been
// raised, cannot be read, or it has taken too long.
func (a *assembler) awaiting() {
	a.emit(function(asm.Mov.Reg(asm.R6, asm.R2), awaitRaise, "long", "index", "wait"))
	fn := asm.FnProbeReadUser
	if a.sleeps {
		// A kernel that does not preempt itself would keep this CPU, perhaps from the keeper.
		// This helper looks whether others want it (mm/gup.c: __get_user_pages).
		fn = asm.FnCopyFromUserTask
		a.emit(
			asm.FnGetCurrentTaskBtf.Call(),
			asm.Mov.Reg(asm.R4, asm.R0),
			asm.Mov.Imm(asm.R5, 0),
		)
	}
	a.emit(asm.LoadMem(asm.R3, asm.R6, 0, asm.DWord))
	a.readBy(fn, stackValue, 2, "over")
	a.emit(
		asm.LoadMem(asm.R1, asm.R10, stackValue, asm.Half),
		asm.LoadMem(asm.R2, asm.R6, 8, asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R2, "over"),
		asm.FnKtimeGetNs.Call(),
		asm.LoadMem(asm.R1, asm.R6, 16, asm.DWord),
		asm.JGT.Reg(asm.R0, asm.R1, "over"),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("over"),
		asm.Return(),
	)
}

// function makes an instruction the first of a function. The kernel wants to know the
// types of functions in programs that pass one to a helper.
func function(first asm.Instruction, name, result string, params ...string) asm.Instruction {
	size := map[string]uint32{"int": 4, "long": 8}[result]
	proto := &btf.FuncProto{Return: &btf.Int{Name: result, Size: size, Encoding: btf.Signed}}
	for _, p := range params {
		proto.Params = append(proto.Params, btf.FuncParam{Name: p, Type: &btf.Pointer{Target: &btf.Void{}}})
	}
	linkage := btf.StaticFunc
	if result == "int" {
		linkage = btf.GlobalFunc
	}
	return btf.WithFuncMetadata(first, &btf.Func{Name: name, Linkage: linkage, Type: proto}).WithSymbol(name)
}
