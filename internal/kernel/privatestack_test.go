package kernel

import (
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// TestStackDepth checks how much stack a program is taken to use.
func TestStackDepth(t *testing.T) {
	const anywhere = 1 << 10
	for what, tt := range map[string]struct {
		code asm.Instructions
		want int64
	}{
		"nothing":     {asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}, 0},
		"a store":     {asm.Instructions{asm.StoreMem(asm.RFP, -72, asm.R1, asm.DWord)}, 72},
		"a constant":  {asm.Instructions{asm.StoreImm(asm.RFP, -16, 0, asm.Word)}, 16},
		"a load":      {asm.Instructions{asm.LoadMem(asm.R1, asm.RFP, -64, asm.DWord)}, 64},
		"an atomic":   {asm.Instructions{asm.AddAtomic.Mem(asm.RFP, asm.R1, asm.DWord, -8)}, 8},
		"an address":  {asm.Instructions{asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -48)}, 48},
		"between":     {asm.Instructions{asm.Mov.Reg(asm.R2, asm.RFP), asm.Mov.Imm(asm.R1, 1), asm.Add.Imm(asm.R2, -40)}, 40},
		"a variable":  {asm.Instructions{asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Reg(asm.R2, asm.R3)}, anywhere},
		"copied":      {asm.Instructions{asm.Mov.Reg(asm.R2, asm.RFP), asm.Mov.Reg(asm.R3, asm.R2)}, anywhere},
		"kept":        {asm.Instructions{asm.StoreMem(asm.R1, 0, asm.RFP, asm.DWord)}, anywhere},
		"subtraction": {asm.Instructions{asm.Sub.Reg(asm.R1, asm.RFP)}, anywhere},
		"not used":    {asm.Instructions{asm.Mov.Reg(asm.R2, asm.RFP)}, anywhere},
		"another's":   {asm.Instructions{asm.StoreMem(asm.R1, -200, asm.R2, asm.DWord)}, 0},
	} {
		if got := stackDepth(tt.code); got != tt.want {
			t.Errorf("%s: depth %d, want %d", what, got, tt.want)
		}
	}
}

// TestWithDeadTailCall checks that a function's beginning moves, with its symbol,
// type and line, but no reference does.
func TestWithDeadTailCall(t *testing.T) {
	function := &btf.Func{Name: "f"}
	line := asm.Comment("line 1")
	old := asm.Instructions{
		btf.WithFuncMetadata(asm.Call.Label("g"), function).WithSymbol("f").WithSource(line),
		asm.Return(),
	}
	code := withDeadTailCall(old)
	if len(code) != len(old)+3 {
		t.Fatalf("%d instructions, want %d", len(code), len(old)+3)
	}
	if in := &code[0]; in.Symbol() != "f" || btf.FuncMetadata(in) != function || in.Source() != line || in.Reference() != "" {
		t.Errorf("beginning %+v has symbol %q, type %v, line %v", in, in.Symbol(), btf.FuncMetadata(in), in.Source())
	}
	if in := &code[3]; in.Symbol() != "" || btf.FuncMetadata(in) != nil || in.Reference() != "g" {
		t.Errorf("former beginning %+v has symbol %q, type %v, reference %q", in, in.Symbol(), btf.FuncMetadata(in), in.Reference())
	}
	if old[0].Symbol() != "f" || btf.FuncMetadata(&old[0]) != function {
		t.Error("the instructions that were given have changed")
	}
	if !largeStack(asm.Instructions{asm.StoreImm(asm.RFP, -64, 0, asm.Word)}) || largeStack(asm.Instructions{asm.StoreImm(asm.RFP, -56, 0, asm.Word)}) {
		t.Error("want 64 bytes to be large, and 56 not")
	}
	if largeStack(asm.Instructions{asm.StoreImm(asm.RFP, -256, 0, asm.Word), asm.FnTailCall.Call()}) {
		t.Error("a program with a tail call has no private stack")
	}
}
