package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestShapes decides about every shape of site on every generation of kernels.
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
		s := Site{Probe: reader.Probe{Machine: test.machine, Class: class}, Offset: test.at}
		if test.stub {
			s.Probe.Type = &reader.Type{Record: notes.TypeRecord{Flags: notes.CalledStub}}
		}
		pl := &planner{optimization: test.kernel, pageSize: page}
		window := append(test.code, make([]byte, 64)...)
		pl.planX86(&s, &operand.Object{Window: window, WindowStart: test.at})
		if refused, unsafe := s.Reason != nil, errors.Is(s.Reason, ErrUnsafe); s.Offset != test.at+test.moved || refused != test.refused || unsafe != test.unsafe {
			t.Errorf("%s at %#x, kernel %v: moved by %d, reason %v, want %d, refused %t, unsafe %t",
				test.name, test.at, test.kernel, s.Offset-test.at, s.Reason, test.moved, test.refused, test.unsafe)
		}
	}
}

// TestChunks holds that no link is given more sites than the kernel takes, and
// that none is left out.
func TestChunks(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: " 0-1", 1 << 20: " 0-1048576", 1<<20 + 1: " 0-1048576 1048576-1048577", 3 << 19: " 0-1048576 1048576-1572864",
	} {
		got := ""
		for start, end := range chunks(n) {
			got += fmt.Sprintf(" %d-%d", start, end)
		}
		if got != want {
			t.Errorf("%d sites: chunks%s, want%s", n, got, want)
		}
	}
}

// TestPerfSemaphore refuses, without asking the kernel, what a perf event would
// silently cut off.
func TestPerfSemaphore(t *testing.T) {
	g := &group{sites: []*Site{{Probe: reader.Probe{SemaphoreOffset: 1 << 32}}}}
	if all, err := g.attachPerf(t.Context()); err != nil || len(all) != 0 || !errors.Is(g.sites[0].Reason, ErrSilent) {
		t.Errorf("attached %d, %v, reason %v, want one that wraps ErrSilent", len(all), err, g.sites[0].Reason)
	}
}
