package attach

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/kernel"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestManyForms loads one program with the code for many signatures, beyond
// what jumps reach.
func TestManyForms(t *testing.T) {
	var sigs []*signature
	for i := range 700 {
		sig := &signature{hook: hook{typ: ebpf.Kprobe, sleeps: kernel.Sleepable.Require() == nil}}
		for j := range 12 {
			sig.read(operand.Operand{
				Kind: operand.Memory, Size: 8, HasBase: true, Disp: int64(i*100 + j), Base: operand.Location{Off: 0, Size: 8},
			})
		}
		sigs = append(sigs, sig)
	}
	specs, forms := programSpecs(sigs, newRefs(t))
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
	seen := map[form]bool{}
	for _, f := range forms {
		seen[f] = true
	}
	if d := cmp.Diff(len(sigs), len(seen)); d != "" {
		t.Errorf("places of signatures (-want +got):\n%s", d)
	}
}

// newRefs returns what programs that record events refer to.
func newRefs(t *testing.T) *refs {
	t.Helper()
	r := &refs{}
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&r.ring, ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())}},
		{&r.counters, ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: countersSize, MaxEntries: 1}},
	} {
		var err error
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			needs.Skip(t, "%v", privilege.Explain("make maps", err))
		}
		t.Cleanup(func() { (*m.to).Close() })
	}
	return r
}
