package codegen

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// TestNoStackNoCode checks that programs of those who ask for no stacks are the same,
// instruction by instruction, as if there were no code for stacks.
func TestNoStackNoCode(t *testing.T) {
	refs := newRefs(t)
	for _, name := range []string{"Scratch", "Control", "Zeros", "Other"} {
		m, err := ebpf.NewMap(&ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		switch name {
		case "Scratch":
			refs.Scratch, refs.Groups = m, [2]*ebpf.Map{m, m}
		case "Control":
			refs.Control = m
		case "Zeros":
			refs.Zeros = m
		default:
			refs.Other = m
		}
	}
	register := operand.Operand{Kind: operand.Register, Size: 8, HasBase: true, Base: operand.Location{Size: 8}}
	number := Input{Source: InputOperand, Kind: reader.Uint, Size: 8}
	text := record.String{Slot: 0}
	sigs := map[string]func(*Signature){
		"number": func(*Signature) {},
		"text":   func(s *Signature) { s.Limit, s.Strings = 100, []record.String{text} },
		"count":  func(s *Signature) { s.Aggregate = &Aggregate{} },
		"groups": func(s *Signature) {
			s.Aggregate = &Aggregate{Parts: []Part{{In: number, Size: 8}}, KeySize: 8, Value: number, Wanted: Values{Value: true, Sum: true, Hist: true}}
		},
		"groups by text": func(s *Signature) {
			s.Limit, s.Strings = 100, []record.String{text}
			s.Aggregate = &Aggregate{Parts: []Part{{In: Input{Source: InputString, Kind: reader.String, String: text}, Size: KeyStringSize}}, KeySize: KeyStringSize}
		},
	}
	all := sections
	defer func() { sections = all }()
	for name, change := range sigs {
		t.Run(name, func(t *testing.T) {
			program := func(of []section, stack int) string {
				sections = of
				sig := &Signature{Hook: Hook{Type: ebpf.Kprobe}}
				sig.Read(register)
				sig.Stack.Most = stack
				change(sig)
				specs, _ := Specs([]*Signature{sig}, refs)
				return fmt.Sprint(specs[0].Instructions)
			}
			without := slices.Delete(slices.Clone(all), 5, 6) // the stack's
			if len(without) != len(all)-1 || all[5].write == nil || all[5].read != nil {
				t.Fatal("the sixth section is not the stack's any more")
			}
			got := program(all, 0)
			if d := cmp.Diff(program(without, 0), got); d != "" {
				t.Errorf("the program has code for stacks (-without +with):\n%s", d)
			}
			if got == program(all, 20) && name != "count" && name != "groups" && name != "groups by text" {
				t.Error("with a stack the program is no other")
			}
		})
	}
}

// TestReadGroupStack checks which addresses are read of what programs keep.
func TestReadGroupStack(t *testing.T) {
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = binary.NativeEndian.AppendUint64(b, v)
		}
		return b
	}
	for _, test := range []struct {
		name  string
		value []byte
		want  GroupStack
		ok    bool
	}{
		{"two", words(7, 3, 0, 16, 1, 2, 99), GroupStack{PID: 7, Site: 3, Calls: symbols.Calls{PCs: []uint64{1, 2}}}, true},
		{"at an entry", words(7, 3, 5, 16, 1, 2, 99), GroupStack{PID: 7, Site: 3, Calls: symbols.Calls{PCs: []uint64{1, 5, 2}}}, true},
		{"too large", words(7, 3, 0, 32, 1, 2, 99), GroupStack{}, false},
		{"an error", words(7, 3, 0, 1<<64-14, 1), GroupStack{}, false},
		{"short", words(7, 3, 0), GroupStack{}, false},
		{"odd", words(7, 3, 0, 5, 1), GroupStack{}, false},
	} {
		st, err := ReadGroupStack(test.value)
		if d := cmp.Diff(test.want, st); test.ok && d != "" || (err == nil) != test.ok {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, d)
		}
	}
}

// TestStackHash checks that what differs has another hash: an address, the order, the length,
// the process.
func TestStackHash(t *testing.T) {
	seen := map[uint64]string{}
	check := func(pid int, pcs ...uint64) {
		h, what := StackHash(pid, symbols.Calls{PCs: pcs}), fmt.Sprint(pid, pcs)
		if other, ok := seen[h]; ok || h == 0 {
			t.Errorf("%s and %s have the hash %#x", what, other, h)
		}
		seen[h] = what
	}
	check(1)
	for i := range uint64(1000) {
		check(1, 0x400000+i)
		check(1, 0x400000+i, 0x400000)
		check(1, 0x7fff00000000+i<<12, 0x400000, i+1)
		check(2, 0x400000+i, 0x400000)
	}
	check(1, 0)
	check(1, 0, 0)
}
