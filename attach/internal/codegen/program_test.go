package codegen

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestManyForms loads the code for many signatures, more than jumps in one
// program reach.
func TestManyForms(t *testing.T) {
	var sigs []*query.Signature
	for i := range 700 {
		sig := &query.Signature{Hook: query.Hook{Type: ebpf.Kprobe, Sleeps: kernel.Sleepable.Require() == nil}}
		for j := range 12 {
			sig.Read(operand.Operand{
				Kind: operand.Memory, Size: 8, HasBase: true, Disp: int64(i*100 + j), Base: operand.Location{Off: 0, Size: 8},
			})
		}
		sigs = append(sigs, sig)
	}
	specs, forms := Specs(sigs, newRefs(t))
	if len(specs) < 2 {
		t.Errorf("all of %d signatures in %d programs", len(sigs), len(specs))
	}
	for _, spec := range specs {
		p, err := ebpf.NewProgram(spec)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		p.Close()
	}
	seen := map[Entry]bool{}
	for _, f := range forms {
		seen[f] = true
	}
	if d := cmp.Diff(len(sigs), len(seen)); d != "" {
		t.Errorf("places of signatures (-want +got):\n%s", d)
	}
}

// TestLastAlone loads the program of a signature that no longer fits into that of others: it has all that
// it needs itself.
func TestLastAlone(t *testing.T) {
	var sigs []*query.Signature
	for i := 0; ; i++ {
		sig := &query.Signature{Hook: query.Hook{Type: ebpf.Kprobe}, Sample: 2}
		for j := range 12 {
			sig.Read(operand.Operand{
				Kind: operand.Memory, Size: 8, HasBase: true, Disp: int64(i*100 + j), Base: operand.Location{Off: 0, Size: 8},
			})
		}
		sigs = append(sigs, sig)
		specs, forms := Specs(sigs, newRefs(t))
		if len(specs) == 1 {
			continue
		}
		if last := forms[sig]; last.Program != 1 || last.Cookie(7) != 7 {
			t.Errorf("signature %d: %+v, whose cookie for site 7 is %d", i, last, last.Cookie(7))
		}
		p, err := ebpf.NewProgram(specs[1])
		if err != nil {
			t.Fatalf("%+v", err)
		}
		p.Close()
		return
	}
}

// newRefs returns the maps of programs that record events.
func newRefs(t *testing.T) *Refs {
	t.Helper()
	r := &Refs{CPUs: 2}
	for _, m := range []struct {
		to   **ebpf.Map
		spec *ebpf.MapSpec
	}{
		{&r.Ring, &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())}},
		{&r.Counters, CountersSpec(r.CPUs)},
	} {
		var err error
		if *m.to, err = ebpf.NewMap(m.spec); err != nil {
			needs.Skip(t, "%v", privilege.Explain("make maps", err))
		}
		t.Cleanup(func() { (*m.to).Close() })
	}
	return r
}

// TestOnlyCounts checks that a program that only counts does so by one addition: it needs
// no maps of groups, and does not ask which site fired.
func TestOnlyCounts(t *testing.T) {
	sig := &query.Signature{Hook: query.Hook{Type: ebpf.Kprobe}, Aggregate: &query.Aggregate{}}
	specs, _ := Specs([]*query.Signature{sig}, newRefs(t))
	additions := 0
	for _, in := range specs[0].Instructions {
		switch {
		case in.OpCode.Class().IsStore() && in.OpCode.Mode() == asm.AtomicMode:
			additions++
		case in.IsBuiltinCall() && asm.BuiltinFunc(in.Constant) != asm.FnGetSmpProcessorId:
			t.Errorf("the program calls %v", asm.BuiltinFunc(in.Constant))
		}
	}
	if additions != 2 { // the other one is for events that are lost: there are none
		t.Errorf("%d additions, want 2", additions)
	}
	prog, err := ebpf.NewProgram(specs[0])
	if err != nil {
		t.Fatalf("%+v", err)
	}
	prog.Close()
}
