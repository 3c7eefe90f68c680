package operand

import (
	"testing"

	"github.com/cilium/ebpf/asm"
)

// TestBits checks which bits of a value are a field's: of a constant at once, and else by two shifts.
func TestBits(t *testing.T) {
	for _, tt := range []struct {
		value       uint64
		bits, above int
		signed      bool
		want        int64
	}{
		{0b1011_0110, 3, 1, false, 0b011},
		{0b1011_0110, 3, 1, true, 3},
		{0b1011_0110, 3, 4, false, 0b011},
		{0b1011_0110, 4, 4, true, -5},
		{0b1011_0110, 4, 4, false, 11},
		{0b1011_0110, 1, 7, true, -1},
		{1 << 63, 1, 63, false, 1},
		{^uint64(0), 64, 0, true, -1},
		{0b1011_0110, 0, 0, false, 0b1011_0110}, // no bit field
	} {
		op := Operand{Kind: Const, Size: 8, Value: tt.value}.Field(tt.bits, tt.above, tt.signed)
		if int64(op.Value) != tt.want || op.Bits != 0 || op.ValueSize() != 8 {
			t.Errorf("%d bits above %d of %#b: %+v, want %d", tt.bits, tt.above, tt.value, op, tt.want)
		}
		if tt.bits == 0 {
			continue
		}
		read := Operand{Kind: Memory, Size: 4}.Field(tt.bits, tt.above, tt.signed)
		got := int64(tt.value)
		for _, in := range read.LoadField(asm.R1) {
			switch in.OpCode.ALUOp() {
			case asm.LSh:
				got <<= in.Constant
			case asm.RSh:
				got = int64(uint64(got) >> in.Constant)
			case asm.ArSh:
				got >>= in.Constant
			default:
				t.Errorf("instruction %v", in)
			}
		}
		if got != tt.want || read.ValueSize() != 8 {
			t.Errorf("%d bits above %d of %#b are loaded as %d, want %d", tt.bits, tt.above, tt.value, got, tt.want)
		}
	}
}
