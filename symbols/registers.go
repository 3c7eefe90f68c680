package symbols

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/go-usdt/usdt/symbols/internal/cfi"
)

// Registers are the user-space registers of a thread, with which [Space.Unwind] begins.
type Registers struct {
	machine *cfi.Machine
	values  cfi.Registers
}

// ptRegs says where the kernel's struct of a machine's registers has the registers that DWARF
// numbers from 0 on, and the program counter: as indices of 8 bytes.
var ptRegs = map[elf.Machine]struct {
	machine *cfi.Machine
	numbers []int
	pc      int
}{
	// arch/x86/include/uapi/asm/ptrace.h, struct pt_regs: r15 r14 r13 r12 rbp rbx r11
	// r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss. DWARF: rax rdx rcx
	// rbx rsi rdi rbp rsp r8 to r15.
	elf.EM_X86_64: {cfi.AMD64, []int{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0}, 16},
	// arch/arm64/include/uapi/asm/ptrace.h, struct user_pt_regs: x0 to x30, sp, pc.
	elf.EM_AARCH64: {cfi.ARM64, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}, 32},
}

// NewRegisters returns the registers in b, in the layout of the kernel's struct pt_regs
// on x86-64 and struct user_pt_regs on arm64, which uprobes have as their context.
func NewRegisters(machine elf.Machine, b []byte) (*Registers, error) {
	layout, ok := ptRegs[machine]
	if !ok {
		return nil, fmt.Errorf("registers of %v are not known", machine)
	}
	need := 8 * (max(layout.pc, layout.numbers[layout.machine.SP]) + 1)
	if len(b) < need {
		return nil, fmt.Errorf("registers of %v have %d bytes, not %d", machine, need, len(b))
	}
	r := &Registers{machine: layout.machine}
	for i, n := range layout.numbers {
		r.values[i] = binary.LittleEndian.Uint64(b[8*n:])
	}
	r.values[cfi.PC] = binary.LittleEndian.Uint64(b[8*layout.pc:])
	return r, nil
}

// PC returns the program counter.
func (r *Registers) PC() uint64 { return r.values[cfi.PC] }

// SP returns the stack pointer.
func (r *Registers) SP() uint64 { return r.values[r.machine.SP] }
