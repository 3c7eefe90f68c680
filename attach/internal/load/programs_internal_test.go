package load

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/leftover"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestPrune checks that a few programs without a link are kept, the ones that had a link most
// recently, whatever comes and goes.
func TestPrune(t *testing.T) {
	before := leftover.Descriptors(t)
	var p Programs
	busy := map[*ebpf.Program]bool{}
	const all = 3 * idlePrograms
	signatures := make([]*query.Signature, all)
	for i := range signatures {
		sig := &query.Signature{Operands: []operand.Operand{{Kind: operand.Const, Size: 8, Value: uint64(i)}}}
		signatures[i] = sig
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, Instructions: kernel.EmptyProgram(), License: kernel.License})
		if errors.Is(err, os.ErrPermission) {
			needs.Root(t)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.add(prog, []*query.Signature{sig}, map[*query.Signature]codegen.Entry{})
		if i == 0 {
			busy[prog] = true
		}
		if err := p.Prune(busy); err != nil {
			t.Fatal(err)
		}
	}
	for i, sig := range signatures {
		if _, got := p.Find(sig); got != (i == 0 || i >= all-idlePrograms) {
			t.Errorf("signature %d of %d is known: %t", i, all, got)
		}
	}
	if n := leftover.Descriptors(t) - before; n != 1+idlePrograms {
		t.Errorf("%d programs are loaded, want %d", n, 1+idlePrograms)
	}
	for i := range 3 * maxRefusals {
		p.refuse(&query.Signature{Operands: []operand.Operand{{Value: uint64(i)}}}, unix.E2BIG)
		if p.refusals.Len() > maxRefusals {
			t.Fatalf("%d refusals are kept, want at most %d", p.refusals.Len(), maxRefusals)
		}
	}
	p.Close()
	if n := leftover.Descriptors(t) - before; n != 0 {
		t.Errorf("%d programs are left", n)
	}
}
