package operand

// Offsets in struct pt_regs, arch/x86/include/asm/ptrace.h, x86-64. A 32-bit
// program's registers also lie there, zero-extended.
const (
	ptR15 = 8 * iota
	ptR14
	ptR13
	ptR12
	ptBP
	ptBX
	ptR11
	ptR10
	ptR9
	ptR8
	ptAX
	ptCX
	ptDX
	ptSI
	ptDI
	ptOrigAX
	ptIP
	ptCS
	ptFlags
	ptSP
	ptSS
)

var amd64Registers = &Registers{
	ByName: map[string]int16{
		"rax": ptAX, "rbx": ptBX, "rcx": ptCX, "rdx": ptDX,
		"rsi": ptSI, "rdi": ptDI, "rbp": ptBP, "rsp": ptSP,
		"r8": ptR8, "r9": ptR9, "r10": ptR10, "r11": ptR11,
		"r12": ptR12, "r13": ptR13, "r14": ptR14, "r15": ptR15,
		"rip": ptIP,
	},
	// System V ABI, AMD64 supplement, figure 3.36.
	byDWARF: []int16{
		ptAX, ptDX, ptCX, ptBX, ptSI, ptDI, ptBP, ptSP,
		ptR8, ptR9, ptR10, ptR11, ptR12, ptR13, ptR14, ptR15, ptIP,
	},
	IP:       ptIP,
	Argument: Location{Off: ptDI, Size: 8},
	slots:    []int16{ptDI, ptSI, ptDX, ptCX, ptR8, ptR9},
}

var i386Registers = &Registers{
	ByName: map[string]int16{
		"eax": ptAX, "ebx": ptBX, "ecx": ptCX, "edx": ptDX,
		"esi": ptSI, "edi": ptDI, "ebp": ptBP, "esp": ptSP,
		"eip": ptIP,
	},
	// System V ABI, Intel386 supplement, table 2.14.
	byDWARF:  []int16{ptAX, ptCX, ptDX, ptBX, ptSP, ptBP, ptSI, ptDI, ptIP},
	IP:       ptIP,
	Argument: Location{Zero: true, Size: 8},
	wrap32:   true,
}
