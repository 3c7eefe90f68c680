package pcln

import (
	"iter"

	"github.com/go-usdt/usdt/internal/safeelf"
)

// ReadFunctions reads the table of a Go program for its [Table.Functions] only: since Go
// 1.2, at little cost. It returns nil if the file has none.
func ReadFunctions(f *safeelf.File) (*Table, error) {
	p := &program{file: f}
	t, data, err := p.read(go12)
	if t == nil || !t.counts() {
		return t, err
	}
	if err := p.findText(t, p.module(t, data, ownSections)); err != nil {
		return nil, err
	}
	return t, nil
}

// Func is a function in a table.
type Func struct {
	Addr, End uint64
	Name      uint32 // where it begins in the table's names; it ends with a zero
}

// Len returns the number of functions that the table has at most.
func (t *Table) Len() int { return t.count }

// Names returns the names of functions. Names of tables that are damaged may overlap.
func (t *Table) Names() []byte { return t.names }

// Registers reports whether functions take arguments in registers on the 64-bit
// architectures where Go does so: since Go 1.18 on all of them.
func (t *Table) Registers() bool { return t.version >= go118 }

// Functions yields the functions that have a name, in the order of the table: by address,
// unless it is damaged.
func (t *Table) Functions() iter.Seq[Func] {
	return func(yield func(Func) bool) {
		for i := range t.count {
			fn, info := Func{Addr: t.entry(i), End: t.entry(i + 1)}, t.info(i)
			if len(info) < t.field+4 || fn.End < fn.Addr {
				continue
			}
			if t.counts() {
				fn.Addr, fn.End = fn.Addr+t.text, fn.End+t.text
			}
			if fn.Name = t.bo.Uint32(info[t.field:]); uint64(fn.Name) < uint64(len(t.names)) && !yield(fn) {
				return
			}
		}
	}
}
