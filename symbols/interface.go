package symbols

import (
	"debug/elf"
	"math"
	"strings"

	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
	"github.com/go-usdt/usdt/symbols/internal/elfsym"
)

// interfaces are the types that values in a Go program's interfaces have. They are found when
// somebody asks for them.
type interfaces struct {
	read    bool
	symbols elfsym.Interfaces
	of      map[string][]NamedValue // by interface
	errors  *held.Types
}

// anyType is the name of the interface without methods.
const anyType = "interface {}"

// nilInterface is what the first word of an interface is called that has no value.
var nilInterface = NamedValue{Name: "nil"}

// namesOf returns what the first words of an interface's values are called. Words that the program
// itself makes while it runs are not known. A position-independent program has the words of its file
// plus the distance at which it is loaded.
func (c *Code) namesOf(v *debuginfo.Variable) []NamedValue {
	o, ok := c.object.value.(*object)
	if !ok || o.elf.Type != elf.ET_EXEC && o.elf.Type != elf.ET_DYN {
		return []NamedValue{nilInterface}
	}
	in := &c.interfaces
	if !in.read {
		in.read, in.of = true, map[string][]NamedValue{}
		in.symbols, _ = elfsym.ReadInterfaces(o.elf)
		if debug := o.debug().elf; len(in.symbols.Tables) == 0 && debug != nil {
			in.symbols, _ = elfsym.ReadInterfaces(debug)
		}
	}
	name := v.Type
	if name == "any" {
		name = anyType
	}
	if names, ok := in.of[name]; ok {
		return names
	}
	names := []NamedValue{nilInterface}
	taken := map[string]bool{}
	add := func(typ string, address uint64) {
		short := held.ShortType(typ)
		if taken[short] {
			short = typ // of another package of the same name
		}
		if taken[short] = true; address <= math.MaxInt64 {
			names = append(names, NamedValue{Name: short, Value: int64(address)})
		}
	}
	if name == anyType {
		for _, t := range c.info().GoTypes() {
			if t.At < in.symbols.Types {
				t.At += in.symbols.Types
			}
			add(t.Name, t.At)
		}
	}
	for _, t := range in.symbols.Tables {
		if typ, ok := strings.CutSuffix(t.Name, ","+name); ok {
			add(typ, t.Address)
		}
	}
	in.of[name] = names
	return names
}
