package bare

import (
	"debug/elf"
	"slices"
)

// Machine is a kind of machine that executes programs.
type Machine struct {
	Name       string
	Class      elf.Class
	Machine    elf.Machine
	Breakpoint []byte   // fills what is not a piece
	Registers  []string // in the order of Registers, and of corpus.c
	Driver     []string // makes corpus.c a driver
}

var (
	AMD64 = &Machine{
		Name: "amd64", Class: elf.ELFCLASS64, Machine: elf.EM_X86_64, Breakpoint: []byte{0xcc},
		Registers: []string{
			"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp",
			"rip", "eflags", "selectors", "fs_base", "gs_base", "ds", "es", "fs", "gs",
		},
		Driver: driver(),
	}
	I386 = &Machine{
		Name: "i386", Class: elf.ELFCLASS32, Machine: elf.EM_386, Breakpoint: []byte{0xcc},
		Registers: []string{"gs", "fs", "es", "ds", "edi", "esi", "ebp", "esp", "ebx", "edx", "ecx", "eax", "cs", "ss", "eip", "eflags"},
		Driver:    driver("-m32"),
	}
	ARM64 = &Machine{
		Name: "arm64", Class: elf.ELFCLASS64, Machine: elf.EM_AARCH64, Breakpoint: []byte{0, 0, 0x20, 0xd4}, // brk #0
		Registers: []string{
			"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
			"x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp", "pc", "pstate", "tpidr_el0",
		},
		Driver: driver(),
	}
)

// driver returns a compiler and its flags. The driver is where no branch of a piece leads.
func driver(flags ...string) []string {
	return append([]string{"gcc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-mgeneral-regs-only", "-Wl,-Ttext-segment=0x70000000"}, flags...)
}

// Register returns the place of a register in Registers.
func (m *Machine) Register(name string) int { return slices.Index(m.Registers, name) }
