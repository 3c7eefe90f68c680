package attach_test

import (
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
	f.Fuzz(func(t *testing.T, seed uint64) {
		if known := executed(t, randomForms(seed)); len(known) > 0 {
			for _, d := range compare(t, known, false).differ {
				t.Errorf("%s", d)
			}
		}
	})
}

func randomForms(seed uint64) (all []form) {
	r := rand.New(rand.NewPCG(seed, 0))
	for len(all) < 256 {
		if f := randomForm(r); !f.excluded() {
			all = append(all, f)
		}
	}
	return all
}

// randomForm returns an instruction with random prefixes, opcode and operand.
func randomForm(r *rand.Rand) form {
	const legacy = "\x2e\x64\x65\x66\x66\x66\x66\x67\x67\xf2\xf2\xf3\xf3"
	var head []byte
	for range r.IntN(4) {
		head = append(head, legacy[r.IntN(len(legacy))])
	}
	rex := byte(0x40 | r.IntN(16))
	if r.IntN(2) == 0 {
		head = slices.Insert(head, len(head)-r.IntN(min(2, len(head)+1)), rex) // seldom where it has no meaning
	}
	prefix := string(head)
	op, space := r.IntN(256), r.IntN(5)
	modRM, size := true, func(reg int) int { return immediate(min(space, 3), op, reg, slices.Contains(head, 0x66), prefix) }
	switch {
	case space == 4 && r.IntN(2) == 0:
		head = append(head, 0xc4, byte(r.IntN(8)<<5|1+r.IntN(3)), byte(r.IntN(256)))
	case space == 4:
		head = append(head, 0x62, byte(0xf0|1+r.IntN(6)), byte(r.IntN(256)|4), byte(r.IntN(256)))
	default:
		head = append(head, []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"}[space]...)
		if modRM = hasModRM(space, op); space == 0 && isPrefix(op) {
			op, modRM = 0x90, false
		}
	}
	var all []form
	forms(append(head, byte(op)), len(head), modRM, size, func(f form) bool { all = append(all, f); return true })
	if len(all) == 0 { // longer than an instruction may be
		return randomForm(r)
	}
	return all[r.IntN(len(all))]
}
