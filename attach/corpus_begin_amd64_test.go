package attach_test

import (
	"encoding/binary"

	"github.com/go-usdt/usdt/internal/systest/bare"
)

// begin sets the states that instructions begin with: registers that lead to memory or hold
// small numbers, flags, stacks, and an extended state without two equal registers.
func (bits mode) begin(m *bare.Machine, p *bare.Process) {
	at := func(n uint64) uint64 { return bare.DataAt + n }
	names := map[string][2]string{ // in both modes
		"ax": {"eax", "rax"}, "bx": {"ebx", "rbx"}, "cx": {"ecx", "rcx"}, "dx": {"edx", "rdx"}, "si": {"esi", "rsi"},
		"di": {"edi", "rdi"}, "bp": {"ebp", "rbp"}, "sp": {"esp", "rsp"}, "flags": {"eflags", "eflags"},
	}
	for v := range p.Begin {
		r := &p.Begin[v]
		set := func(name string, value uint64) {
			if both, ok := names[name]; ok {
				name = both[bits/mode64]
			}
			if i := m.Register(name); i >= 0 {
				r[i] = value
			}
		}
		set("ax", 0x4711)
		set("cx", 5)
		set("dx", 0)
		if v&1 != 0 {
			set("ax", at(0x100))
			set("cx", 0x11223344)
			set("dx", at(0x180))
		}
		for i, name := range []string{"bx", "si", "di", "bp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
			set(name, at(0x200+0x80*uint64(i)))
		}
		set("flags", []uint64{0x202, 0x247, 0x283, 0xa06}[v>>1&3]) // none; carry, zero, parity; sign, carry; overflow, parity
		set("sp", at(0x1000+0x100*uint64(v>>3)))
		set("fs_base", 0x40)
		set("gs_base", 0x80)
	}
	for i := range uint64(bare.DataSize / 8) {
		binary.LittleEndian.PutUint64(p.Data[8*i:], bare.CodeAt+i) // breakpoints
	}
	// Far pointers, and what a far return takes from the other stack.
	selector := uint32(0x33)
	if bits == mode32 {
		selector = 0x23
	}
	for _, at := range []int{0x300, 0x210, 0x1100} { // (%rdi), 16(%rbx), (%rsp)
		binary.LittleEndian.PutUint32(p.Data[at:], bare.CodeAt+0x600)
		binary.LittleEndian.PutUint32(p.Data[at+4:], selector)
	}
	fxsave := p.Vector
	if bits == mode32 {
		const env = 28 // the registers of the 80387's format
		for i := range 8 {
			copy(p.Vector[env+10*i:], x87Number(i))
		}
		binary.LittleEndian.PutUint32(p.Vector[8:], 0xffff0000) // all of them valid
		fxsave = p.Vector[112:]
	}
	extended(fxsave)
}

// x87Number returns 1.5 or more in the format of x87 registers.
func x87Number(i int) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, 0xc0 | byte(i), byte(i), 0x40} }

// extended fills a state as XSAVE writes it, or FXSAVE on old processors: small integers in
// the even vector registers, numbers in the odd ones and those of the x87.
func extended(v []byte) {
	const legacySSE, header, magic = 160, 512, 0x46505853
	for i := range 8 {
		copy(v[32+16*i:], x87Number(i))
	}
	v[4] = 0xff // all of them valid
	fill := func(part []byte, seed int) {
		for i := 0; i+4 <= len(part); i += 4 {
			n := uint32(seed + i/4)
			if i/16%2 == 1 {
				n = 0x3f800000 + n<<12
			}
			binary.LittleEndian.PutUint32(part[i:], n)
		}
	}
	fill(v[legacySSE:legacySSE+256], 1)
	if len(v) <= header || binary.LittleEndian.Uint32(v[464:]) != magic {
		return
	}
	features := binary.LittleEndian.Uint64(v[472:])
	binary.LittleEndian.PutUint64(v[header:], features&0xe7|3)
	if features&4 != 0 && len(v) >= 832 {
		fill(v[576:832], 100) // upper halves of ymm
	}
}
