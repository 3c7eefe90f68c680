package codegen

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// TestNoStackNoCode checks that programs of sessions that ask for no stacks are the same,
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
	number := query.Input{Source: query.InputOperand, Kind: reader.Uint, Size: 8}
	text := record.String{Slot: 0}
	sigs := map[string]func(*query.Signature){
		"number": func(*query.Signature) {},
		"text":   func(s *query.Signature) { s.Limit, s.Strings = 100, []record.String{text} },
		"count":  func(s *query.Signature) { s.Aggregate = &query.Aggregate{} },
		"groups": func(s *query.Signature) {
			s.Aggregate = &query.Aggregate{Parts: []query.Part{{In: number, Size: 8}}, KeySize: 8, Value: number, Wanted: query.Values{Value: true, Sum: true, Hist: true}}
		},
		"groups by text": func(s *query.Signature) {
			s.Limit, s.Strings = 100, []record.String{text}
			s.Aggregate = &query.Aggregate{Parts: []query.Part{{In: query.Input{Source: query.InputString, Kind: reader.String, String: text}, Size: query.KeyStringSize}}, KeySize: query.KeyStringSize}
		},
	}
	all := sections
	defer func() { sections = all }()
	for name, change := range sigs {
		t.Run(name, func(t *testing.T) {
			program := func(of []section, stack int) string {
				sections = of
				sig := &query.Signature{Hook: query.Hook{Type: ebpf.Kprobe}}
				sig.Read(register)
				sig.Stack.Most = stack
				change(sig)
				specs, _ := Specs([]*query.Signature{sig}, refs)
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
