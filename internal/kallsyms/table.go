package kallsyms

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Table is the functions of a kernel by address. Several goroutines may use it.
type Table struct {
	text    string   // the names, each with a zero byte behind it
	modules []string // the first is the kernel itself, and empty
	entries []entry  // by address; entries of one address as the kernel lists them
}

// entry is a function, or where the code of one ends if what follows is none: then its name is
// empty, which is at the beginning of text.
type entry struct {
	address uint64
	name    uint32 // where it begins in text
	module  uint32
}

// Function is a function of the kernel. Module is empty if it belongs to the kernel itself, and
// "bpf" if it is a program.
type Function struct {
	Name    string
	Module  string
	Address uint64
}

// maxSize is more than the code of a function takes. The table has no sizes: what is farther behind
// the beginning of the last function of a module is something else.
const maxSize = 1 << 20

// At returns the function in which an address lies, and how far behind its beginning. If
// several begin at one address, it is the one that the kernel itself prints, which it lists first.
func (t *Table) At(address uint64) (f Function, offset uint64, ok bool) {
	i, found := slices.BinarySearchFunc(t.entries, address, func(e entry, a uint64) int { return cmp.Compare(e.address, a) })
	if !found {
		if i == 0 {
			return Function{}, 0, false
		}
		begin := t.entries[i-1].address
		i, _ = slices.BinarySearchFunc(t.entries, begin, func(e entry, a uint64) int { return cmp.Compare(e.address, a) })
	}
	e := t.entries[i]
	if offset = address - e.address; e.name == 0 || offset >= maxSize {
		return Function{}, 0, false
	}
	return t.function(e), offset, true
}

// All returns all functions, by address.
func (t *Table) All() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		for _, e := range t.entries {
			if e.name != 0 && !yield(t.function(e)) {
				return
			}
		}
	}
}

func (t *Table) function(e entry) Function {
	return Function{Name: t.name(e), Module: t.modules[e.module], Address: e.address}
}

func (t *Table) name(e entry) string {
	name := t.text[e.name:]
	return name[:strings.IndexByte(name, 0)]
}
