package attach_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// FuzzInstructions executes random instructions, whose prefixes are in orders that the
// corpus does not have, with and without a probe; see TestCorpus.
func FuzzInstructions(f *testing.F) {
	needs.Root(f)
	f.Add(uint64(1))
	f.Add(uint64(2))
	// Go ends a fuzz test that takes 10 s for an input, which compiling may take on a busy machine.
	drivers := map[*instructionSet]string{}
	for _, set := range instructionSets {
		drivers[set] = set.driver(f)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		set := instructionSets[seed%uint64(len(instructionSets))]
		if known := set.executed(t, drivers[set], set.random(seed)); len(known) > 0 {
			for _, d := range set.compare(t, drivers[set], known, false).differ {
				t.Errorf("%s: %s", set.machine.Name, d)
			}
		}
	})
}

func (m mode) randomForms(seed uint64) (all []form) {
	r := rand.New(rand.NewPCG(seed, uint64(m)))
	for len(all) < 128 {
		m.randomForm(r, func(f form) {
			if !testing.Short() || !m.failsInQEMU(f.code) {
				all = append(all, f)
			}
		})
	}
	return all
}

// randomForm yields an instruction with random prefixes, opcode and operand, if it is not
// longer than instructions may be.
func (m mode) randomForm(r *rand.Rand, yield func(form)) {
	const legacy = "\x2e\x64\x65\x66\x66\x66\x66\x67\x67\xf2\xf2\xf3\xf3"
	var head []byte
	for range r.IntN(4) {
		head = append(head, legacy[r.IntN(len(legacy))])
	}
	rex := byte(0x40 | r.IntN(16))
	if m == mode64 && r.IntN(2) == 0 {
		head = slices.Insert(head, len(head)-r.IntN(min(2, len(head)+1)), rex) // seldom where it has no meaning
	}
	prefix := string(head)
	op, space := r.IntN(256), r.IntN(5)
	modRM, size := true, func(reg int) int { return m.immediate(min(space, 3), op, reg, slices.Contains(head, 0x66), prefix) }
	switch {
	case space == 4 && r.IntN(2) == 0:
		head = append(head, 0xc4, byte(r.IntN(8)<<5|1+r.IntN(3)), byte(r.IntN(256)))
	case space == 4:
		head = append(head, 0x62, byte(0xf0|1+r.IntN(6)), byte(r.IntN(256)|4), byte(r.IntN(256)))
	default:
		head = append(head, []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"}[space]...)
		if modRM = m.hasModRM(space, op); space == 0 && m.isPrefix(op) {
			op, modRM = 0x90, false
		}
	}
	var all []form
	e := &encoder{mode: m, share: 1, yield: func(f form) bool { all = append(all, f); return true }}
	e.forms(append(head, byte(op)), len(head), modRM, size)
	if len(all) > 0 {
		f := all[r.IntN(len(all))]
		f.hash = r.Uint32()
		yield(f)
	}
}

// failsInQEMU reports whether QEMU, which emulates machines, executes an instruction wrongly:
// it does not stop behind a pause that is executed step by step, as Linux 7.3 does it, and
// lets Intel's processors enter the kernel by syscall in 32-bit mode, which crashes it. A far
// return reads the stack as the kernel would: where the stack is not mapped, as behind
// les or lds, which VEX is in 32-bit mode, Linux takes the fault for its own, 10,000 times at most.
func (m mode) failsInQEMU(code []byte) bool {
	pause := code[len(code)-1] == 0x90 && bytes.IndexByte(code, 0xf3) >= 0
	if m != mode32 {
		return pause
	}
	load := slices.IndexFunc(code, func(b byte) bool { return b == 0xc4 || b == 0xc5 })
	return pause || bytes.Contains(code, []byte{0x0f, 0x05}) ||
		load >= 0 && slices.ContainsFunc(code[load:], func(b byte) bool { return b == 0xca || b == 0xcb || b == 0xcf }) // lret, iret
}
