package plan

import (
	"debug/elf"
	"errors"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestShapes checks the decision about every shape of site on every generation of
// kernels.
func TestShapes(t *testing.T) {
	const page = 4096
	plain, five, ten := sys.NoOptimization, sys.OptimizesNop5, sys.OptimizesNop10
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	ret := []byte{0xc3}
	for _, test := range []struct {
		name    string
		code    []byte
		at      uint64 // offset in the file
		machine elf.Machine
		stub    bool
		kernel  sys.Optimization
		moved   uint64 // by how much the uprobe lies behind the site
		refused bool
		unsafe  bool
	}{
		{"nop", join(nop1, ret), 16, elf.EM_X86_64, false, plain, 0, false, false},
		{"nop", join(nop1, ret), 16, elf.EM_X86_64, false, five, 0, false, false},
		{"nop", join(nop1, ret), 16, elf.EM_X86_64, false, ten, 0, false, false},
		{"nop5", nop5, 16, elf.EM_X86_64, false, plain, 0, false, false},
		{"nop5", nop5, 16, elf.EM_X86_64, false, five, 0, true, true},
		{"nop5", nop5, 16, elf.EM_X86_64, false, ten, 0, false, false},
		{"nop5, 32 bits", nop5, 16, elf.EM_386, false, five, 0, false, false},
		{"nop5 in a stub", nop5, 16, elf.EM_X86_64, true, five, 0, false, false},
		{"nop5 at the end of a page", nop5, page - 5, elf.EM_X86_64, false, five, 0, true, true},
		{"nop5 across pages", nop5, page - 4, elf.EM_X86_64, false, five, 0, false, false},
		{"nop,nop5", join(nop1, nop5), 16, elf.EM_X86_64, false, five, 0, false, false},
		{"nop,nop5", join(nop1, nop5), 16, elf.EM_X86_64, false, ten, 0, false, false},
		{"nop10", nop10, 16, elf.EM_X86_64, false, plain, 0, true, false},
		{"nop10", nop10, 16, elf.EM_X86_64, false, five, 0, true, false},
		{"nop10", nop10, 16, elf.EM_X86_64, false, ten, 0, false, false},
		{"nop,nop10", join(nop1, nop10), 16, elf.EM_X86_64, false, five, 0, false, false},
		{"nop,nop10", join(nop1, nop10), 16, elf.EM_X86_64, false, ten, 1, false, false},
		{"nop,nop10 to the end of a page", join(nop1, nop10), page - 11, elf.EM_X86_64, false, ten, 1, false, false},
		{"nop,nop10 across pages", join(nop1, nop10), page - 10, elf.EM_X86_64, false, ten, 0, false, false},
		{"nop,nop10, 32 bits", join(nop1, nop10), 16, elf.EM_386, false, ten, 0, false, false},
		{"int3", []byte{0xcc}, 16, elf.EM_X86_64, false, five, 0, true, false},
		{"hlt", []byte{0xf4}, 16, elf.EM_X86_64, false, five, 0, true, false},
	} {
		class := elf.ELFCLASS64
		if test.machine == elf.EM_386 {
			class = elf.ELFCLASS32
		}
		window := append(test.code, make([]byte, 64)...)
		s := site{
			Decision: Decision{Offset: test.at},
			probe:    &reader.Probe{Machine: test.machine, Class: class},
			object:   &operand.Object{Window: window, WindowStart: test.at},
		}
		if test.stub {
			s.probe.Type = &reader.Type{Record: notes.TypeRecord{Flags: notes.CalledStub}}
		}
		pl := &Planner{optimization: test.kernel, pageSize: page}
		pl.nops(&s)
		if refused, unsafe := s.Reason != nil, errors.Is(s.Reason, ErrUnsafe); s.Offset != test.at+test.moved || refused != test.refused || unsafe != test.unsafe {
			t.Errorf("%s at %#x, kernel %v: moved by %d, reason %v, want %d, refused %t, unsafe %t",
				test.name, test.at, test.kernel, s.Offset-test.at, s.Reason, test.moved, test.refused, test.unsafe)
		}
	}
}
