package codegen

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// TestEarlyCondition checks that an event whose condition compares a register has been
// counted as filtered before anything is read, and that a condition on memory comes after
// the read.
func TestEarlyCondition(t *testing.T) {
	register := operand.Operand{Kind: operand.Register, Size: 8, Base: operand.Location{Size: 8}}
	memory := operand.Operand{Kind: operand.Memory, Size: 8, HasBase: true, Base: operand.Location{Size: 8}}
	for _, tt := range []struct {
		name     string
		compared int // operand
		early    bool
	}{{"register", 0, true}, {"memory", 1, false}} {
		t.Run(tt.name, func(t *testing.T) {
			sig := &query.Signature{
				Hook:      query.Hook{Type: ebpf.Kprobe},
				Condition: &filter.Condition{Op: filter.Equal, Bits: 1 << 40},
				Inputs:    []query.Input{{Source: query.InputOperand, Index: tt.compared, Size: 8}},
			}
			sig.Read(register)
			sig.Read(memory)
			specs, _ := Specs([]*query.Signature{sig}, newRefs(t))
			code := specs[0].Instructions
			compares := slices.IndexFunc(code, func(in asm.Instruction) bool {
				return in.OpCode.IsDWordLoad() && in.Constant == 1<<40
			})
			reads := slices.IndexFunc(code, func(in asm.Instruction) bool {
				return in.IsBuiltinCall() && asm.BuiltinFunc(in.Constant) == asm.FnProbeReadUser
			})
			if compares < 0 || reads < 0 || (compares < reads) != tt.early {
				t.Errorf("compares at %d, reads at %d, want the comparison first: %v", compares, reads, tt.early)
			}
			prog, err := ebpf.NewProgram(specs[0])
			if err != nil {
				t.Fatalf("%+v", err)
			}
			prog.Close()
		})
	}
}
