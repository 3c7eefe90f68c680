package traps

import "github.com/go-usdt/usdt/notes"

// functions are what is called, and what uprobes are put on.
var functions = []function{
	{Plain, []byte{0x90, 0xc3}}, // nop; ret; no probe is put on it
	{"nop", []byte{0x90, 0xc3}},
	{"nop5", []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}},
	{"nop10", []byte{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc3}},
	{"push", []byte{0x55, 0x5d, 0xc3}}, // push %rbp; pop %rbp; ret
	{"ret", []byte{0xc3}},
	{loopName, []byte{0x90, 0x48, 0xff, 0xcf, 0x75, 0xfa, 0xc3}}, // 1: nop; dec %rdi; jnz 1b; ret
}

// caller calls the function behind it as often as the first argument says.
var caller = []byte{
	0xe8, functionAt - 5, 0x00, 0x00, 0x00, // 1: call function
	0x48, 0xff, 0xcf, // dec %rdi
	0x75, 0xf6, // jnz 1b
	0xc3, // ret
}

// syscaller calls getpgid(0) as often.
var syscaller = []byte{
	0x49, 0x89, 0xf9, // mov %rdi,%r9
	0xb8, 0x79, 0x00, 0x00, 0x00, // 1: mov $121,%eax
	0x31, 0xff, // xor %edi,%edi
	0x0f, 0x05, // syscall
	0x49, 0xff, 0xc9, // dec %r9
	0x75, 0xf2, // jnz 1b
	0xc3, // ret
}

// likeness names the function whose site takes as long as one of this kind and instruction. The kernel emulates
// nops, pushes of registers and jumps, and executes a copy of anything else
// (arch/x86/kernel/uprobes.c: arch_uprobe_analyze_insn).
func likeness(kind notes.SiteKind, instruction []byte) string {
	switch kind {
	case notes.SiteNop, notes.SiteNopNop5, notes.SiteNopNop10:
		return "nop"
	case notes.SiteNop5:
		return "nop5"
	case notes.SiteNop10:
		return "nop10"
	}
	if len(instruction) > 1 && instruction[0]&0xf0 == 0x40 { // REX
		instruction = instruction[1:]
	}
	if len(instruction) == 0 {
		return "nop"
	}
	switch op := instruction[0]; {
	case op&0xf8 == 0x50, op == 0xe8, op == 0xe9, op == 0xeb, op&0xf0 == 0x70:
		return "push"
	}
	return "ret"
}
