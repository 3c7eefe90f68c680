package operand

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/reader"
)

// TestOfField checks what programs do to read fields of a tracepoint's record.
func TestOfField(t *testing.T) {
	const context = asm.R6
	for name, c := range map[string]struct {
		field reader.Variable
		kind  operandKind
		want  asm.Instructions // with which R3 gets the value, or its address
	}{
		"number":   {reader.Variable{Offset: 12, Size: 4}, Register, asm.Instructions{asm.LoadMem(asm.R3, context, 12, asm.Word)}},
		"byte":     {reader.Variable{Offset: 9, Size: 1}, Register, asm.Instructions{asm.LoadMem(asm.R3, context, 9, asm.Byte)}},
		"length":   {reader.Variable{Offset: 26, Size: 2, Bit: 3}, Register, asm.Instructions{asm.LoadMem(asm.R3, context, 26, asm.Half), asm.RSh.Imm(asm.R3, 3)}},
		"unusual":  {reader.Variable{Offset: 12, Size: 8}, Memory, asm.Instructions{asm.LoadImm(asm.R3, 12, asm.DWord), asm.Mov.Reg(asm.R4, context), asm.Add.Reg(asm.R3, asm.R4)}},
		"in place": {reader.Variable{Offset: 16, Size: 8, Memory: true, Count: 16}, Address, asm.Instructions{asm.LoadImm(asm.R3, 16, asm.DWord), asm.Mov.Reg(asm.R4, context), asm.Add.Reg(asm.R3, asm.R4)}},
		"located": {reader.Variable{Offset: 8, Size: 8, Follow: true}, Address, asm.Instructions{
			asm.LoadImm(asm.R3, 0, asm.DWord), asm.Mov.Reg(asm.R4, context), asm.Add.Reg(asm.R3, asm.R4), asm.LoadMem(asm.R4, context, 8, asm.Half), asm.Add.Reg(asm.R3, asm.R4)}},
		"relative": {reader.Variable{Offset: 8, Size: 8, Follow: true, FollowOffset: 12}, Address, asm.Instructions{
			asm.LoadImm(asm.R3, 12, asm.DWord), asm.Mov.Reg(asm.R4, context), asm.Add.Reg(asm.R3, asm.R4), asm.LoadMem(asm.R4, context, 8, asm.Half), asm.Add.Reg(asm.R3, asm.R4)}},
	} {
		op, err := OfField(&c.field)
		if err != nil || op.Kind != c.kind {
			t.Errorf("%s: operand %+v, error %v, want kind %d", name, op, err, c.kind)
			continue
		}
		got := op.Load(asm.R3, context)
		if c.kind == Memory {
			got = op.LoadAddress(asm.R3, context)
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if fmt.Sprint(got[i]) != fmt.Sprint(c.want[i]) {
				t.Errorf("%s: instruction %d is %v, want %v", name, i, got[i], c.want[i])
			}
		}
	}
	why := errors.New("why")
	for _, f := range []reader.Variable{{Err: why}, {Offset: 1 << 15, Size: 1}, {Offset: -8, Size: 8}} {
		if op, err := OfField(&f); err == nil {
			t.Errorf("%+v is read as %+v", f, op)
		}
	}
}
