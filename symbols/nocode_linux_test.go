package symbols_test

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/symbols"
)

// TestNoCode unwinds code without tables whose frame pointer is none, and leads to a word that
// cannot be an address of code: no frame is made of it.
func TestNoCode(t *testing.T) {
	const sp, rbp, rsp, rip = 0x7ffc0000, 4, 19, 16 // indices of struct pt_regs
	for word, want := range map[uint64]int{0xf8457e965d860004: 1, 2: 1, 0x401000: 2} {
		b, stack := make([]byte, 21*8), make([]byte, 64)
		for i, v := range map[int]uint64{rip: 0x55550000, rsp: sp, rbp: sp + 16} {
			binary.LittleEndian.PutUint64(b[8*i:], v)
		}
		binary.LittleEndian.PutUint64(stack[24:], word)
		regs, err := symbols.NewRegisters(elf.EM_X86_64, b)
		if err != nil {
			t.Fatal(err)
		}
		r := symbols.NewResolver(nil)
		calls := r.Recorded(nil).Unwind(nil, regs, stack)
		if len(calls.PCs) != want || calls.Cut == nil {
			t.Errorf("behind %#x: %#x, %v, want %d addresses, and why there are no more", word, calls.PCs, calls.Cut, want)
		}
		r.Close()
	}
}
