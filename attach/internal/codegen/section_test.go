package codegen

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/record"
)

// TestReservedRecords checks that a program which may sleep does not do so
// between the reservation of a record in the ring and its submission.
func TestReservedRecords(t *testing.T) {
	sig := &query.Signature{Layout: record.Layout{Slots: 2, Block: 24}, Hook: query.Hook{Sleeps: true}, Operands: []operand.Operand{
		{Kind: operand.Const, Size: 8},
		{Kind: operand.Memory, Size: 8, HasBase: true, Base: operand.Location{Size: 8}},
	}}
	specs, _ := Specs([]*query.Signature{sig}, newRefs(t))
	if len(specs) != 1 || specs[0].Flags == 0 {
		t.Fatalf("%d programs, want one that may sleep", len(specs))
	}
	reserved, sleeps, reads := false, 0, 0
	for _, in := range specs[0].Instructions {
		if !in.IsBuiltinCall() {
			continue
		}
		switch asm.BuiltinFunc(in.Constant) {
		case asm.FnRingbufReserve:
			reserved = true
		case asm.FnRingbufSubmit:
			reserved = false
		case asm.FnCopyFromUser:
			sleeps++
			if reserved {
				t.Error("memory is brought in while a record is reserved")
			}
		case asm.FnProbeReadUser:
			if reserved {
				reads++
			}
		}
	}
	if sleeps != 1 || reads != 1 {
		t.Errorf("memory is brought in %d times, and read %d times into the record, want once each", sleeps, reads)
	}
}

// TestKinds checks that signatures share a program only if it is attached as each
// requires.
func TestKinds(t *testing.T) {
	multi, perf := query.Hook{Type: ebpf.Kprobe, Attach: ebpf.AttachTraceUprobeMulti}, query.Hook{Type: ebpf.Kprobe}
	var sigs []*query.Signature
	for i, hook := range []query.Hook{multi, perf, multi} {
		sig := &query.Signature{Hook: hook}
		sig.Read(operand.Operand{Kind: operand.Const, Size: 8, Value: uint64(i)})
		sigs = append(sigs, sig)
	}
	specs, forms := Specs(sigs, newRefs(t))
	if len(specs) != 2 {
		t.Fatalf("%d programs, want 2", len(specs))
	}
	for i, sig := range sigs {
		if spec := specs[forms[sig].Program]; spec.Type != sig.Hook.Type || spec.AttachType != sig.Hook.Attach {
			t.Errorf("signature %d is in a program of type %v for %v, want %v", i, spec.Type, spec.AttachType, sig.Hook)
		}
	}
	if forms[sigs[0]].Cookie(7) == forms[sigs[2]].Cookie(7) {
		t.Error("two signatures of one program have the same cookie")
	}
}
