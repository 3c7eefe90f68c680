package reader

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/pcln"
)

// pclntab is the table of functions in a Go program, which stripping keeps.
type pclntab struct {
	functions []pcln.Func // by address
	names     []byte
	registers bool // whether arguments are in registers
}

// readPclntab reads .gopclntab. It returns nil if there is none.
func (f *File) readPclntab() (*pclntab, error) {
	table, err := pcln.ReadFunctions(f.elf)
	if table == nil {
		return nil, err
	}
	if err := f.elf.Spend(costSymbol * uint64(table.Len())); err != nil {
		return nil, err
	}
	t := &pclntab{names: table.Names(), registers: table.Registers() && f.elf.Class == elf.ELFCLASS64}
	t.functions = slices.AppendSeq(make([]pcln.Func, 0, table.Len()), table.Functions())
	slices.SortStableFunc(t.functions, func(a, b pcln.Func) int { return cmp.Compare(a.Addr, b.Addr) })
	return t, nil
}

// has reports whether a function begins at addr.
func (t *pclntab) has(addr uint64) bool {
	_, ok := slices.BinarySearchFunc(t.functions, addr, func(fn pcln.Func, addr uint64) int { return cmp.Compare(fn.Addr, addr) })
	return ok
}

// appendFunctions appends the table's functions.
func (t *pclntab) appendFunctions(out []functionSymbol) ([]functionSymbol, error) {
	if t == nil {
		return out, nil
	}
	names, left := string(t.names), maxOverlap*len(t.names)
	for _, fn := range t.functions {
		name, _, ok := strings.Cut(names[fn.Name:], "\x00")
		if left -= len(name); left < 0 {
			return out, errOverlap
		}
		if ok && name != "" {
			out = append(out, functionSymbol{addr: fn.Addr, size: fn.End - fn.Addr, name: name, typ: elf.STT_FUNC, local: true})
		}
	}
	return out, nil
}

// convention returns the convention of fn, a function of the table's file.
func (t *pclntab) convention(fn *Function) Convention {
	switch {
	case t == nil || !t.has(fn.Address):
		return CConvention
	case !t.registers || slices.ContainsFunc(fn.Symbols, func(s string) bool { return strings.HasSuffix(s, ".abi0") }):
		return GoStack
	}
	return GoRegisters
}

// function returns the name and address of the function that holds addr.
func (t *pclntab) function(addr uint64) (name string, start uint64, ok bool) {
	if t == nil {
		return "", 0, false
	}
	i, _ := slices.BinarySearchFunc(t.functions, addr, func(fn pcln.Func, addr uint64) int {
		if fn.Addr <= addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr >= t.functions[i-1].End {
		return "", 0, false
	}
	fn := &t.functions[i-1]
	text := t.names[fn.Name:]
	end := bytes.IndexByte(text[:min(len(text), maxGoName)], 0)
	if end <= 0 {
		return "", 0, false
	}
	return string(text[:end]), fn.Addr, true
}

// maxGoName is the length of the longest name that is returned: names of generic
// functions contain the names of their types.
const maxGoName = 64 << 10
