package provider

import (
	"strconv"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/stub"
)

// signature is what probes with equal arguments share: the layout of the arguments in
// the block and their description in the object.
type signature struct {
	key  string         // distinguishes and orders signatures
	note string         // the argument string of the note
	typ  *btfgen.Struct // the argument block, named later; nil without arguments

	// Fields for records:
	ipv4  uintptr  // if it has or leads to a netip.Addr: the last word of an IPv4 one
	texts []uint32 // offsets of its Texts

	// Fields for probes whose arguments travel in slots:
	args      []argument
	addresses uint64 // a bit for each slot that holds an address
}

// argument is one argument's place in the block.
type argument struct {
	kind    kind
	slot    uint8 // the value or the address
	lenSlot uint8 // the length of a string or []byte
}

// maxNoteArgs is the largest number of a note's arguments that every consumer reads
// (libbpf: BPF_USDT_MAX_ARG_CNT).
const maxNoteArgs = 12

// newSignature lays out a block of slots: first the slots that the note shows, in order, then the
// hidden ones. FORMAT.md describes the block.
func newSignature(key string, names []string, kinds []kind) *signature {
	s := &signature{key: key, args: make([]argument, len(kinds))}
	slots := 0
	show := func(info kindInfo) uint8 {
		if slots > 0 {
			s.note += " "
		}
		s.note += slotOperand(info, slots)
		slots++
		return uint8(slots - 1)
	}
	for i, k := range kinds {
		a := argument{kind: k, slot: show(k.info())}
		if k.counted() {
			a.lenSlot = show(kindInfos[kindUint64])
		}
		s.args[i] = a
	}
	for i := range s.args {
		a := &s.args[i]
		if a.kind.terminated() {
			a.lenSlot = uint8(slots)
			slots++
		}
		if a.kind.terminated() || a.kind.counted() {
			s.addresses |= 1 << a.slot
		}
	}
	s.typ = slotStruct(names, s.args, slots)
	return s
}

// slotOperand returns the assembler text for the value in a slot.
func slotOperand(info kindInfo, slot int) string {
	if regs := stub.RegisterArgs[info.size]; slot < len(regs) {
		return sizePrefix(info) + stub.Register(regs[slot])
	}
	return memoryOperand(info, 8*slot)
}

// memoryOperand returns the assembler text for the value at an offset in the
// block.
func memoryOperand(info kindInfo, offset int) string {
	return sizePrefix(info) + stub.Memory(offset)
}

func sizePrefix(info kindInfo) string {
	s := strconv.Itoa(info.size) + "@"
	if info.signed {
		s = "-" + s
	}
	return s
}
