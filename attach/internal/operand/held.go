package operand

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/reader"
)

// Held says how a value is read that has to do with what an interface of Go holds. Other slots of the
// record have what is needed for that.
type Held struct {
	Role HeldRole
	// Word is the slot of the interface's first word for HeldParts and HeldAddress, and that of the former for HeldValue.
	// Data is the slot of its second word.
	Word, Data uint8
	Types      held.Types
	Part       uint8
}

// HeldRole says what a value is.
type HeldRole uint8

const (
	NotHeld HeldRole = iota
	// HeldParts are where the type that the interface holds has its parts, as [held.Type.Packed] has them; 0
	// for other types.
	HeldParts
	// HeldValue is what is at the part, plus the operand's Disp. It is 0 if the type does not have the part.
	HeldValue
	// HeldAddress is the second word, if the type is one of Types. Otherwise the read fails.
	HeldAddress
)

// OfHeld returns how a variable is read that is in what an interface holds: by the slots of the parts and
// of the interface's second word.
func OfHeld(v *reader.Variable, parts, data int) (Operand, error) {
	switch {
	case v.Held == nil:
		return Operand{}, errors.New("it is in no interface")
	case v.Size != 1 && v.Size != 2 && v.Size != 4 && v.Size != 8:
		return Operand{}, fmt.Errorf("a value of %d bytes is no number that events can hold", v.Size)
	}
	return Operand{
		Kind: Memory, Size: uint8(v.Size), Disp: v.Held.Plus,
		Held: Held{Role: HeldValue, Word: uint8(parts), Data: uint8(data), Part: uint8(v.Held.Part)},
	}, nil
}

// PartsOf returns the operand for the parts of the type whose word is in a slot.
func PartsOf(types held.Types, word int) Operand {
	return Operand{Kind: Memory, Size: 8, Held: Held{Role: HeldParts, Word: uint8(word), Types: types}}
}

// AddressOf returns the operand for the address of what an interface holds, whose words are in slots, if
// it is of one of the types.
func AddressOf(types held.Types, word, data int) Operand {
	return Operand{Kind: Memory, Size: 8, Held: Held{Role: HeldAddress, Word: uint8(word), Data: uint8(data), Types: types}}
}

// InSlot returns the operand for the value of an operand that is read into a slot: of Memory, and by
// OnStack.
func InSlot(slot int) Operand {
	return Operand{Kind: Register, Size: 8, HasBase: true, Base: Location{Slot: true, Off: int16(slot), Size: 8}}
}

// SlotsAt is where programs keep the values of slots, from the frame pointer and below.
const SlotsAt = -40

// SlotAt returns where a program keeps the value of a slot.
func SlotAt(slot int) int16 { return int16(SlotsAt - 8*(slot+1)) }

// OnStack reports whether the value is kept there even where the record is assembled elsewhere, for
// operands that InSlot is the base of.
func (h *Held) OnStack() bool { return h.Role == HeldAddress }

// Needs returns the slots without which the value is not known.
func (op *Operand) Needs() (slots []uint8) {
	if op.Held.Role != NotHeld {
		slots = append(slots, op.Held.Word)
	}
	if op.Held.Role > HeldParts {
		slots = append(slots, op.Held.Data)
	}
	if op.HasBase && op.Base.Slot {
		slots = append(slots, uint8(op.Base.Off))
	}
	return slots
}
