// Package operandtest has objects for tests of what is made of operands.
package operandtest

import (
	"debug/elf"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Objects returns an executable and a library with the same symbols.
func Objects() (exec, shared *operand.Object) {
	return &operand.Object{ELF: &safeelf.File{Type: elf.ET_EXEC}, Symbols: symbols{}}, &operand.Object{ELF: &safeelf.File{Type: elf.ET_DYN}, Symbols: symbols{}}
}

// symbols are a symbol sym and a global offset table.
type symbols struct{}

func (symbols) Resolve(a *notes.Arg) (uint64, error) {
	const sym, got = 0x5000, 0x4000
	switch {
	case a.Symbol != "sym":
		return 0, reader.ErrNoSymbol
	case a.Reloc == "GOTOFF":
		return sym - got, nil
	case a.Reloc == "lo12":
		return 123, nil
	}
	return sym, nil
}

func (symbols) Slot(symbol string) (uint64, bool) { return 0x4800, symbol == "imported" }

func (symbols) OwnSlot(addr uint64) (uint64, bool) { return 0x4900, addr == 0x5000 }
