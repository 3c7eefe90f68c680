package attach_test

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/go-usdt/usdt/internal/systest/bare"
)

var instructionSets = []*instructionSet{{machine: bare.ARM64, forms: armForms, random: armRandom, begin: armBegin}}

// at returns the code of piece i of a program.
func (f form) at(int) []byte { return f.code }

// armForms yields one in share of the instructions of arm64: all values of the bits that
// name operations, with some registers.
func armForms(share int, yield func(form) bool) {
	for high := range uint32(1 << 11) {
		for middle := range uint32(1 << 6) {
			for n := range armRegisters {
				f := armForm(high, middle, n)
				if f.hash%uint32(share) == uint32(*corpusPart) && !yield(f) {
					return
				}
			}
		}
	}
}

// armRandom returns instructions of which every third has an operation that the kernel
// simulates, or whose operand is beside it.
func armRandom(seed uint64) (all []form) {
	r := rand.New(rand.NewPCG(seed, 0))
	special := []uint32{
		0x10 << 24, 0x90 << 24, // adr, adrp
		0x18 << 24, 0x58 << 24, 0x98 << 24, 0x1c << 24, // ldr of a literal
		0x14 << 24, 0x94 << 24, 0x54 << 24, // b, bl, b.cond
		0x34 << 24, 0xb5 << 24, 0x36 << 24, 0xb7 << 24, // cbz, cbnz, tbz, tbnz
		0xd61f << 16, 0xd63f << 16, 0xd65f << 16, // br, blr, ret
		0xd503201f, 0xd503241f, 0xd503233f, // nop, bti, paciasp
		0x885f7c00, 0x88007c00, 0xc85ffc00, // ldxr, stxr, ldaxr
	}
	for len(all) < 256 {
		f := armForm(r.Uint32N(1<<11), r.Uint32N(1<<6), r.IntN(len(armRegisters)))
		if len(all)%3 == 0 {
			i := special[r.IntN(len(special))]
			if i&0xffff == 0 { // operands: near, and registers
				i |= (1+r.Uint32N(15))<<5 | r.Uint32N(8) // not to itself
			}
			binary.LittleEndian.PutUint32(f.code, aside(i))
		}
		f.hash = r.Uint32()
		all = append(all, f)
	}
	return all
}

// armRegisters are the registers m, n and d of instructions; see armBegin.
var armRegisters = [][3]uint32{{2, 0, 1}, {3, 31, 4}, {31, 3, 30}, {1, 5, 0}}

func armForm(high, middle uint32, n int) form {
	r := armRegisters[n]
	i := high<<21 | r[0]<<16 | middle<<10 | r[1]<<5 | r[2]
	i = aside(i)
	return form{code: binary.LittleEndian.AppendUint32(nil, i), hash: (i ^ i>>15) * 0x9e3779b1 >> 3}
}

// aside has a branch lead past the beginnings of other pieces, which would have an event more.
func aside(i uint32) uint32 {
	switch {
	case i&0x7c000000 == 0x14000000: // b, bl
		i |= 1
	case i&0x7c000000 == 0x34000000, i>>24 == 0x54: // cbz, tbz, b.cond
		i |= 1 << 5
	}
	return i
}

// armBegin sets the states that instructions begin with: registers that lead to memory and
// to code, or hold small numbers, flags, and vector registers of which no two are equal.
func armBegin(p *bare.Process) {
	at := func(n uint64) uint64 { return bare.DataAt + n }
	for v := range p.Begin {
		r := &p.Begin[v]
		for i := range 31 {
			r[i] = at(0x200 + 0x80*uint64(i))
		}
		r[2] = 5
		r[3], r[30] = bare.CodeAt+0x40, bare.CodeAt+0x80
		r[8] = 0xffff // no system call
		if v&1 != 0 {
			r[1], r[4] = 0, ^uint64(0)
		}
		set := func(name string, value uint64) { r[bare.ARM64.Register(name)] = value }
		set("sp", at(0x1000))
		set("pstate", r[bare.ARM64.Register("pstate")]&^(0xf<<28)|uint64(v>>1&7|v&1<<3)<<28)
		set("tpidr_el0", 0x40)
	}
	for i := range uint64(bare.DataSize / 8) {
		binary.LittleEndian.PutUint64(p.Data[8*i:], bare.CodeAt+4*i) // breakpoints
	}
	const status = 8 // and control
	for i := status; i+4 <= len(p.Vector); i += 4 {
		n := uint32(i)
		if i/16%2 == 1 {
			n = 0x3f800000 + n<<12
		}
		binary.LittleEndian.PutUint32(p.Vector[i:], n)
	}
}
