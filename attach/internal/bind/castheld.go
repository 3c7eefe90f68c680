package bind

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/attach/internal/argument"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/reader"
)

// errUnknownTypes is why an interface is not cast.
var errUnknownTypes = errors.New("the program has no symbols by which types in interfaces are known")

// holder returns the interface of Go that a cast takes for one type, or whose second word it does, nil if it
// is none.
func (b *Binder) holder(p *reader.Probe, c *argument.Cast) *reader.Variable {
	if !c.Pointer {
		return nil
	}
	iface := argument.Find(b.castable(p), strings.TrimSuffix(c.Arg, ".data"))
	if iface == nil || !iface.Interface {
		return nil
	}
	return iface
}

// heldTypes returns the types in an interface that a cast means.
func heldTypes(iface *reader.Variable, c *argument.Cast) held.Types {
	var all []held.Type
	for _, n := range iface.Named {
		name := strings.TrimPrefix(n.Name, "*")
		if name == c.Type || name == held.ShortType(c.Type) || strings.HasSuffix(name, "."+c.Type) {
			all = append(all, held.Type{Word: uint64(n.Value)})
		}
	}
	return held.New(all)
}

// castHeld returns where what an interface holds is, if that has the type of a cast. is is false if the cast
// is of something else, or of a second word whose type nobody knows.
func (b *Binder) castHeld(sc *Schema, s *site.Site, regs *operand.Registers, c *argument.Cast) (op operand.Operand, is bool, err error) {
	iface := b.holder(&s.Probe, c)
	switch {
	case iface == nil:
		return op, false, nil
	case iface.Held != nil:
		return op, false, fmt.Errorf("%s is in an interface itself", iface.Name)
	case len(iface.Named) <= 1 && c.Arg == iface.Name:
		return op, false, errUnknownTypes
	case len(iface.Named) <= 1:
		return op, false, nil
	}
	var words [2]int
	for i, name := range []string{iface.Name, iface.Name + ".data"} {
		v := argument.Find(b.castable(&s.Probe), name)
		if v == nil {
			return op, false, fmt.Errorf("%w %s", errNoArg, name)
		}
		word, err := operand.OfVariable(v, regs, &s.Probe, s.Offset)
		if err != nil {
			return op, false, err
		}
		words[i] = sc.Sig.Read(word)
	}
	types := heldTypes(iface, c)
	if types.Len() == 0 {
		return op, false, fmt.Errorf("the program has no value of the type %s in an interface %s", c.Type, iface.Type)
	}
	return operand.InSlot(sc.Sig.Read(operand.AddressOf(types, words[0], words[1]))), true, nil
}

// heldParts returns the parts of a value that is cast. If an interface holds it, they say so.
func (b *Binder) heldParts(p *reader.Probe, c *argument.Cast, parts []reader.Variable) []reader.Variable {
	iface := b.holder(p, c)
	if iface == nil {
		return parts
	}
	place := &held.Place{Interface: iface.Name, Data: iface.Name + ".data", Types: heldTypes(iface, c), Part: held.Whole}
	var out []reader.Variable
	for _, v := range parts {
		if v.Held == nil {
			v.Held = place
		}
		out = append(out, v)
	}
	return out
}
