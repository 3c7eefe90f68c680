package reader

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
)

// Site is the code at a probe site.
type Site struct {
	// Bytes are the first bytes of the site in the file, up to 16.
	Bytes []byte
	// Insns are the instructions of the site, in GNU's assembler syntax. There are
	// none for architectures that are not disassembled, and for bytes that are not an
	// instruction.
	Insns []Insn
	Kind  notes.SiteKind
	// Optimizable reports whether the running kernel can replace an instruction of
	// the site by a call, which costs a fraction of a breakpoint.
	Optimizable bool
	// Unsafe reports whether, with a kernel like the running one, such a call may
	// overwrite what the program keeps below its stack pointer.
	Unsafe bool
	// State says whether a tracer watches the site of a live probe now. It is 0 if
	// the probe is not live.
	State SiteState
}

// Insn is an instruction.
type Insn struct {
	Bytes []byte
	Text  string
}

// SiteState says what is at a site in memory.
type SiteState uint8

const (
	CleanSite SiteState = iota + 1 // the file's bytes
	Int3Site                       // a breakpoint, of whatever architecture
	CallSite                       // the call of an optimised uprobe
)

func (s SiteState) String() string {
	return [...]string{"unknown", "clean", "int3", "call"}[min(s, CallSite)]
}

// siteSize is the size of the longest site, nop+nop10, with room for one instruction.
const siteSize = 16

// errNoFile is returned for a probe that did not come from this package.
var errNoFile = errors.New("the probe was not read from a file")

// Site reads the code at the site from the file and, for a live probe, from its
// process. The File or Process that the probe is from must still be open.
func (p *Probe) Site() (Site, error) {
	if p.file == nil {
		return Site{}, errNoFile
	}
	if errors.Is(p.SiteErr, ErrNotLoaded) {
		return Site{}, p.SiteErr
	}
	b := make([]byte, siteSize)
	n, err := p.file.code().elf.ReadAt(b, int64(p.Offset))
	if err != nil && err != io.EOF {
		return Site{}, err
	}
	b = b[:n:n]
	s := Site{Bytes: b, Kind: notes.SiteKindOf(notes.Machine(p.Machine), p.ByteOrder, b)}
	s.Insns = p.disassemble(b, s.Kind)
	s.Optimizable, s.Unsafe = p.optimizable(s.Kind, sys.UprobeOptimization())
	if p.Live != nil {
		s.State, err = p.state(b, s.Kind)
	}
	return s, err
}

// disassemble returns the instructions of a site, two if its kind has two.
func (p *Probe) disassemble(b []byte, kind notes.SiteKind) []Insn {
	count := 1
	if kind.Double() {
		count = 2
	}
	var out []Insn
	addr := p.Location + p.Delta
	for range count {
		text, n := p.decode(b, addr)
		if n <= 0 || n > len(b) {
			break
		}
		out = append(out, Insn{b[:n:n], text})
		b, addr = b[n:], addr+uint64(n)
	}
	return out
}

func (p *Probe) decode(b []byte, addr uint64) (text string, size int) {
	defer func() {
		if recover() != nil { // a disassembler's tables may have holes
			text, size = "", 0
		}
	}()
	switch p.Machine {
	case elf.EM_X86_64, elf.EM_386:
		mode := 64
		if p.Machine == elf.EM_386 {
			mode = 32
		}
		inst, err := x86asm.Decode(b, mode)
		if err != nil || inst.Op == 0 {
			return "", 0
		}
		return x86asm.GNUSyntax(inst, addr, nil), inst.Len
	case elf.EM_AARCH64:
		inst, err := arm64asm.Decode(b)
		if err != nil {
			return "", 0
		}
		return arm64asm.GNUSyntax(inst), 4
	}
	return "", 0
}

// optimizable reports whether a kernel optimises the site, and whether that may harm
// the program. Kernels do so in 64-bit x86 programs only, never across a page
// (arch/x86/kernel/uprobes.c: can_optimize).
func (p *Probe) optimizable(kind notes.SiteKind, kernel sys.Optimization) (can, unsafe bool) {
	if p.Machine != elf.EM_X86_64 || p.Class != elf.ELFCLASS64 {
		return false, false
	}
	at := (p.Location + p.Delta) % pageSize
	var size uint64
	switch {
	case kernel == sys.OptimizesNop5 && (kind == notes.SiteNop5 || kind == notes.SiteNopNop5):
		size = 5
		// A called stub keeps nothing below the stack pointer.
		unsafe = p.Type == nil || p.Type.Record.Flags&notes.CalledStub == 0
	case kernel == sys.OptimizesNop10 && (kind == notes.SiteNop10 || kind == notes.SiteNopNop10):
		size = 10
	default:
		return false, false
	}
	if kind.Double() {
		at = (at + 1) % pageSize
	}
	if at+size > pageSize {
		return false, false
	}
	return true, unsafe
}

// state compares the site in memory with the bytes in the file.
func (p *Probe) state(want []byte, kind notes.SiteKind) (SiteState, error) {
	n := min(len(want), 11) // nop+nop10
	got := make([]byte, n)
	if n == 0 {
		return CleanSite, nil
	}
	if err := procfs.ReadMemory(p.Live.PID, p.Live.Address, got); err != nil {
		return 0, err
	}
	// Only the site itself counts: the next probe may begin with the next byte.
	if p.Machine != elf.EM_X86_64 && p.Machine != elf.EM_386 {
		size := min(4, n)
		if bytes.Equal(got[:size], want[:size]) {
			return CleanSite, nil
		}
		return Int3Site, nil
	}
	nops := 1
	if kind.Double() {
		nops = 2
	}
	for i := range min(nops, n) {
		if got[i] == want[i] {
			continue
		}
		switch {
		case got[i] == 0xcc:
			return Int3Site, nil
		case got[i] == 0xe8, // call
			bytes.HasPrefix(got[i:], []byte{0x48, 0x8d, 0x64, 0x24, 0x80}): // lea -0x80(%rsp),%rsp before the call
			return CallSite, nil
		}
	}
	return CleanSite, nil
}
