package bind

import (
	"fmt"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/reader"
)

// insides reads variables that are in what interfaces hold, by slots for the interfaces' words. Each is
// read once.
type insides struct {
	sc       *Schema
	all      *argument.Variables
	place    func(*reader.Variable) (operand.Operand, error) // of other variables
	relative func(operand.Operand, *reader.Variable) (operand.Operand, error)
	slots    map[string]int // of variables, and of parts by their interfaces
	left     int            // slots that may be added
}

// of returns how a variable is read.
func (in *insides) of(v *reader.Variable) (operand.Operand, error) {
	if v.Held == nil {
		return in.place(v)
	}
	parts, err := in.parts(v)
	if err != nil {
		return operand.Operand{}, err
	}
	data, err := in.slot(v.Held.Data)
	if err != nil {
		return operand.Operand{}, err
	}
	op, err := operand.OfHeld(v, parts, data)
	if err != nil {
		return op, err
	}
	return in.relative(op, v)
}

// slot returns the slot of a variable, which it adds if there is none.
func (in *insides) slot(name string) (int, error) {
	if slot, ok := in.slots[name]; ok {
		return slot, nil
	}
	v := in.all.Find(name)
	if v == nil {
		return 0, in.all.Lack(name)
	}
	op, err := in.of(v)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return in.add(name, op)
}

// parts returns the slot of the parts of the type that the interface of v holds.
func (in *insides) parts(v *reader.Variable) (int, error) {
	name := v.Held.Interface + " parts" // no variable is called so
	if slot, ok := in.slots[name]; ok {
		return slot, nil
	}
	word, err := in.slot(v.Held.Interface)
	if err != nil {
		return 0, err
	}
	return in.add(name, operand.PartsOf(v.Held.Types, word))
}

func (in *insides) add(name string, op operand.Operand) (int, error) {
	if in.left--; in.left < 0 {
		return 0, errTooMany
	}
	in.slots[name] = in.sc.Sig.Read(op)
	return in.slots[name], nil
}
