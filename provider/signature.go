package provider

import (
	"strconv"
	"strings"

	"github.com/go-usdt/usdt/internal/stub"
)

// signature is a list of argument names and kinds, and how they are laid out
// in the argument block. Probes with the same list share one.
type signature struct {
	names []string
	args  []argument
	slots int // of the block, hidden ones included
	// addresses has a bit for each slot that holds an address.
	addresses uint64
	note      string // the argument string of the note
	key       string // tells signatures apart, and orders them
}

// argument is one argument's place in the block.
type argument struct {
	kind    kind
	slot    uint8 // the value or the address
	lenSlot uint8 // the length of a string or []byte
}

// newSignature lays out the block: first the slots that the note shows, in
// order, then the hidden ones. FORMAT.md describes it.
func newSignature(names []string, kinds []kind) *signature {
	s := &signature{names: names, args: make([]argument, len(kinds))}
	var note []string
	show := func(info kindInfo) uint8 {
		note = append(note, operand(info, s.slots))
		s.slots++
		return uint8(s.slots - 1)
	}
	for i, k := range kinds {
		a := argument{kind: k, slot: show(kindInfos[k])}
		if k == kindBytes {
			a.lenSlot = show(kindInfos[kindUint64])
		}
		s.args[i] = a
	}
	for i := range s.args {
		a := &s.args[i]
		switch a.kind {
		case kindString:
			a.lenSlot = uint8(s.slots)
			s.slots++
			fallthrough
		case kindBytes:
			s.addresses |= 1 << a.slot
		}
	}
	s.note = strings.Join(note, " ")
	return s
}

// operand returns the assembler text for the value in a slot.
func operand(info kindInfo, slot int) string {
	a := strconv.Itoa(info.size) + "@"
	if info.signed {
		a = "-" + a
	}
	if regs := stub.RegisterArgs[info.size]; slot < len(regs) {
		return a + stub.Register(regs[slot])
	}
	return a + stub.Memory(8*slot)
}
