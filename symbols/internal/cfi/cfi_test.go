package cfi

import (
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/symbols/internal/dwarfop"
)

// TestEvaluate runs expressions as DWARF 5, section 2.5.1, says.
func TestEvaluate(t *testing.T) {
	regs := &Registers{7: 1000, 6: 64}
	stack := &Stack{Start: 1000, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 0x1122334455667788), 9)}
	for _, c := range []struct {
		name string
		code []byte
		want uint64
		ok   bool
	}{
		// The procedure linkage table's: rsp + 8 + ((rip & 15) >= 11) * 8.
		{"plt", []byte{dwarfop.Breg0 + 7, 8, dwarfop.Breg0 + 16, 0, dwarfop.Lit0 + 15, dwarfop.And, dwarfop.Lit0 + 11, dwarfop.Ge, dwarfop.Lit0 + 3, dwarfop.Shl, dwarfop.Plus}, 1008, true},
		{"deref", []byte{dwarfop.Breg0 + 7, 8, dwarfop.Deref}, 9, true},
		{"deref of a byte", []byte{dwarfop.Breg0 + 7, 0, dwarfop.DerefSize, 1}, 0x88, true},
		{"beyond the stack", []byte{dwarfop.Breg0 + 7, 9, dwarfop.Deref}, 0, false},
		{"rot", []byte{dwarfop.Lit0 + 1, dwarfop.Lit0 + 2, dwarfop.Lit0 + 3, dwarfop.Rot, dwarfop.Minus, dwarfop.Mul}, ^uint64(2), true}, // 3 * (1 - 2)
		{"swap", []byte{dwarfop.Lit0 + 1, dwarfop.Lit0 + 2, dwarfop.Swap, dwarfop.Minus}, 1, true},
		{"pick", []byte{dwarfop.Lit0 + 5, dwarfop.Lit0 + 6, dwarfop.Pick, 1, dwarfop.Plus}, 11, true},
		{"over", []byte{dwarfop.Lit0 + 5, dwarfop.Lit0 + 6, dwarfop.Over, dwarfop.Minus}, 1, true},
		{"branch", []byte{dwarfop.Lit0 + 9, dwarfop.Lit0 + 1, dwarfop.Bra, 1, 0, dwarfop.Drop, dwarfop.Lit0 + 2, dwarfop.Plus}, 11, true},
		{"for ever", []byte{dwarfop.Skip, 0xfd, 0xff}, 0, false},
		{"growing for ever", []byte{dwarfop.Lit0, dwarfop.Skip, 0xfc, 0xff}, 0, false},
		{"out of the code", []byte{dwarfop.Lit0, dwarfop.Skip, 0xff, 0x7f}, 0, false},
		{"nothing", nil, 0, false},
		{"too few", []byte{dwarfop.Plus}, 0, false},
		{"unknown", []byte{0xff}, 0, false},
		{"cut off", []byte{dwarfop.Const8u, 1}, 0, false},
	} {
		if got, ok := evaluate(c.code, regs, stack, 0, false); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, int64(got), ok, int64(c.want), c.ok)
		}
	}
	if got, ok := evaluate([]byte{dwarfop.PlusUconst, 8}, regs, stack, 500, true); !ok || got != 508 {
		t.Errorf("from CFA: got %d, %v, want 508", got, ok)
	}
}

// TestStep goes to callers by rows that were made by hand.
func TestStep(t *testing.T) {
	stack := &Stack{Start: 1000, Data: make([]byte, 64)}
	for i := range 8 {
		binary.LittleEndian.PutUint64(stack.Data[8*i:], uint64(100+i))
	}
	regs := Registers{7: 1000, 6: 77, 3: 33, PC: 5}
	row := &Row{reg: 7, off: 32, ra: 16, rules: []rule{{kind: saved, reg: 16, off: -8}, {kind: saved, reg: 6, off: -16}, {kind: undefined, reg: 3}}}
	if _, ok := row.Step(AMD64, &regs, stack); !ok || regs[PC] != 103 || regs[6] != 102 || regs[7] != 1032 {
		t.Errorf("got %v, want pc 103, rbp 102, rsp 1032", regs)
	}
	for name, row := range map[string]*Row{
		"a return address beyond the stack": {reg: 7, off: 3200, ra: 16, rules: []rule{{kind: saved, reg: 16, off: -8}}},
		"no return address":                 {reg: 7, off: 8, ra: 16},
		"the outermost":                     {reg: 7, off: 8, ra: 16, rules: []rule{{kind: undefined, reg: 16}}},
		"an unknown register":               {reg: 200, ra: 16, rules: []rule{{kind: saved, reg: 16}}},
	} {
		regs := Registers{7: 1000}
		if _, ok := row.Step(AMD64, &regs, stack); ok || regs != (Registers{7: 1000}) {
			t.Errorf("%s: went on with %v", name, regs)
		}
	}
	// A leaf of arm64 keeps the return address, signed, in x30.
	regs = Registers{31: 1000, 30: 0x7f<<48 | 0x4000}
	leaf := &Row{reg: 31, ra: 30}
	if _, ok := leaf.Step(ARM64, &regs, stack); !ok || regs[PC] != 0x4000 || regs[31] != 1000 {
		t.Errorf("got %#x, want pc 0x4000", regs[PC])
	}
}
