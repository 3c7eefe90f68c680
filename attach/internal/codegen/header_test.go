package codegen

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// TestOmittedTail checks how many bytes of the ring a program that records a number takes, and
// that records become whole again: numbered bytes keep their places, except for the tail's zeros.
func TestOmittedTail(t *testing.T) {
	refs := newRefs(t)
	for _, test := range []struct {
		omit query.Omit
		size int32
	}{
		{query.Omit{}, 48},
		{query.Omit{Time: true}, 48},
		{query.Omit{Task: true}, 48},
		{query.Omit{Time: true, Task: true}, 48},
		{query.Omit{Comm: true}, 32},
		{query.Omit{Comm: true, Time: true}, 32},
		{query.Omit{Comm: true, Task: true}, 24},
		{query.Omit{Comm: true, Task: true, Time: true}, 16},
	} {
		sig := &query.Signature{Hook: query.Hook{Type: ebpf.Kprobe}, Omit: test.omit}
		sig.Read(operand.Operand{Kind: operand.Const})
		specs, _ := Specs([]*query.Signature{sig}, refs)
		if got := reserved(specs[0].Instructions); got != test.size {
			t.Errorf("%+v: the program takes %d bytes, want %d", test.omit, got, test.size)
		}
		prog, err := ebpf.NewProgram(specs[0])
		if err != nil {
			t.Fatalf("%+v: %+v", test.omit, err)
		}
		prog.Close()

		var rec, want []byte
		for i := range byte(test.size) {
			if tail := sig.FixedSize() - int(test.size); len(rec) == record.HeaderSize-tail {
				want = append(want, make([]byte, tail)...)
			}
			rec, want = append(rec, i), append(want, i)
		}
		if d := cmp.Diff(want, test.omit.Expand(rec)); d != "" {
			t.Errorf("%+v: record (-want +got):\n%s", test.omit, d)
		}
		if short := []byte{1, 2, 3}; len(test.omit.Expand(short)) != len(short) {
			t.Errorf("%+v: a record without a header gets one", test.omit)
		}
	}
}

// reserved returns how many bytes a program reserves in the ring.
func reserved(ins asm.Instructions) (size int32) {
	for i, in := range ins {
		if in.IsBuiltinCall() && asm.BuiltinFunc(in.Constant) == asm.FnRingbufReserve {
			return int32(ins[i-2].Constant) // R2, before R3
		}
	}
	return 0
}
