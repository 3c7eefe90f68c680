package reader

import (
	"debug/elf"
	"fmt"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
)

// TestLookups checks that lookups find the same symbols with and without the index,
// and that symbols which all have one name do not make them slow.
func TestLookups(t *testing.T) {
	const n = 100_000
	table := &symtab{strings: []byte{0}}
	add := func(name string, addr uint64, typ elf.SymType) {
		table.symbols = append(table.symbols, symbol{addr: addr, name: uint32(len(table.strings)), typ: typ})
		table.strings = append(append(table.strings, name...), 0)
	}
	add("twice", 1, elf.STT_OBJECT)
	add("twice", 2, elf.STT_OBJECT)
	add("thread", 3, elf.STT_TLS)
	add("thread", 4, elf.STT_OBJECT)
	for i := range n {
		add("same", uint64(i), elf.STT_FUNC)
	}
	index := table.newNameIndex(table.symbols)
	table.index = func() *nameIndex { return index }
	for range 2 * searches {
		for name, want := range map[string]string{"twice": "[1 2]", "thread": "[4]", "none": "[]", "": "[]"} {
			if got := fmt.Sprint(table.lookup(name, false)); got != want {
				t.Fatalf("lookup %d of %q: got %s, want %s", table.lookups.Load(), name, got, want)
			}
		}
	}
	took := turns.Spent(func() {
		for range 1000 {
			if got := table.lookup("same", false); len(got) != maxAddresses {
				t.Fatalf("got %d addresses, want no more than %d", len(got), maxAddresses)
			}
		}
	})
	if took > 5*time.Second {
		t.Errorf("1,000 lookups took %v", took)
	}
}
