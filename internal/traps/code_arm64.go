package traps

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/notes"
)

// functions are what is called, and what uprobes are put on.
var functions = []function{
	{Plain, []byte{0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}}, // nop; ret; no probe is put on it
	{"nop", []byte{0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}},
	{"push", []byte{ // is executed elsewhere
		0xfd, 0x7b, 0xbf, 0xa9, // stp x29, x30, [sp, #-16]!
		0xfd, 0x7b, 0xc1, 0xa8, // ldp x29, x30, [sp], #16
		0xc0, 0x03, 0x5f, 0xd6, // ret
	}},
	{"ret", []byte{0xc0, 0x03, 0x5f, 0xd6}},
}

// caller calls the function behind it as often as the first argument says.
var caller = []byte{
	0xfd, 0x7b, 0xbf, 0xa9, // stp x29, x30, [sp, #-16]!
	(functionAt - 4) / 4, 0x00, 0x00, 0x94, // 1: bl function
	0x00, 0x04, 0x00, 0xd1, // sub x0, x0, #1
	0xc0, 0xff, 0xff, 0xb5, // cbnz x0, 1b
	0xfd, 0x7b, 0xc1, 0xa8, // ldp x29, x30, [sp], #16
	0xc0, 0x03, 0x5f, 0xd6, // ret
}

// syscaller calls getpgid(0) as often.
var syscaller = []byte{
	0xe9, 0x03, 0x00, 0xaa, // mov x9, x0
	0x68, 0x13, 0x80, 0xd2, // 1: mov x8, #155
	0x00, 0x00, 0x80, 0xd2, // mov x0, #0
	0x01, 0x00, 0x00, 0xd4, // svc #0
	0x29, 0x05, 0x00, 0xd1, // sub x9, x9, #1
	0x89, 0xff, 0xff, 0xb5, // cbnz x9, 1b
	0xc0, 0x03, 0x5f, 0xd6, // ret
}

// likeness names the function whose site takes as long as one of this kind and instruction. The kernel simulates
// hints and branches, and executes a copy of anything else
// (arch/arm64/kernel/probes/decode-insn.c).
func likeness(kind notes.SiteKind, instruction []byte) string {
	if kind == notes.SiteNop || len(instruction) < 4 {
		return "nop"
	}
	switch word := binary.LittleEndian.Uint32(instruction); {
	case word&0x7c000000 == 0x14000000, word&0xfe000000 == 0xd6000000: // b, bl; br, blr, ret
		return "ret"
	}
	return "push"
}
