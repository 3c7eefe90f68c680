package plan

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/internal/sys"
	"github.com/go-usdt/usdt/notes"
)

// x86-64 instructions at probe sites.
var (
	nop1  = notes.SiteNop.AMD64()
	nop5  = notes.SiteNop5.AMD64()
	nop10 = notes.SiteNop10.AMD64()
)

// fits reports whether n bytes at off lie in one page: others are never
// optimised.
func (pl *Planner) fits(off uint64, n int) bool { return off%pl.pageSize+uint64(n) <= pl.pageSize }

// nops checks the nops with which sites on x86 begin: the kernel cannot probe
// some, and replaces some by a call, which harms the program. It leaves other
// instructions to other checks.
func (pl *Planner) nops(s *site) {
	if !s.isX86() {
		return
	}
	code := s.object.BytesAt(s.Offset, len(nop1)+len(nop10))
	is64 := s.isX86_64()
	stub := s.probe.Type != nil && s.probe.Type.Record.Flags&notes.CalledStub != 0
	switch {
	case len(code) == 0:
		s.Reason = fmt.Errorf("offset %#x lies beyond the end of %s", s.Offset, s.Path)
	case code[0] == 0xcc || code[0] == 0xf4: // int3, hlt
		s.Reason = fmt.Errorf("the kernel cannot probe the instruction at the site (byte %#x)", code[0])
	case bytes.HasPrefix(code, nop1):
		pl.behindNop(s, code[len(nop1):], is64)
	case bytes.HasPrefix(code, nop10):
		switch {
		case pl.optimization != sys.OptimizesNop10:
			// kernel/events/uprobes.c refuses prefix 0x2e when a process maps the
			// page, and reports nothing if none has mapped it yet.
			s.Reason = errors.New("the site is a nop10, which this kernel cannot probe")
		case pl.panics && is64 && pl.fits(s.Offset, len(nop10)):
			s.Reason = fmt.Errorf("the site is a nop10, which this kernel replaces by a call: %w", ErrPanic)
		}
	case isNop5(code):
		switch {
		case !is64 || pl.optimization != sys.OptimizesNop5:
		case !pl.fits(s.Offset, len(nop5)):
			s.note("nop5 across two pages: slower, since the kernel does not optimise it")
		case pl.panics:
			s.Reason = fmt.Errorf("the site is a nop5, which this kernel replaces by a call: %w", ErrPanic)
		case stub:
			s.note("nop5 in a called stub: optimised by the kernel")
		case s.probe.Target != nil:
			// At a function's entry, the caller keeps nothing below the stack
			// pointer.
			s.Reason = fmt.Errorf("the function begins with a nop5, which this kernel replaces by a call, and forked children crash there: %w", ErrUnsafe)
		default:
			s.Reason = fmt.Errorf("the site is a nop5, which this kernel replaces by a call that overwrites data below the stack pointer, and forked children crash: %w", ErrUnsafe)
		}
	}
}

// behindNop chooses between the one-byte nop of a site and a longer nop
// behind it.
func (pl *Planner) behindNop(s *site, behind []byte, is64 bool) {
	switch {
	case !is64:
	case bytes.HasPrefix(behind, nop5) && pl.optimization == sys.OptimizesNop5:
		s.note("nop,nop5: stays on the nop, since this kernel's optimisation of nop5 is unsafe")
	case bytes.HasPrefix(behind, nop10) && pl.optimization == sys.OptimizesNop10 && pl.panics:
		s.note("nop,nop10: stays on the nop, since kernel.panic_on_warn or kernel.warn_limit is set, and this kernel may warn when it optimises")
	case bytes.HasPrefix(behind, nop10) && pl.optimization == sys.OptimizesNop10 && pl.fits(s.Offset+1, len(nop10)):
		s.Offset++
		s.note("nop,nop10: on the nop10, which the kernel optimises")
	}
}

// marked refuses the site of a note that is not at a nop. Compilers put one there, so the code has
// been moved since, and a breakpoint may come into the midst of an instruction. A probe without a location
// is no note's: who made it knows what is there, as the one at a program's entry point.
func (pl *Planner) marked(s *site) {
	if s.probe.Location == 0 {
		return
	}
	code := s.object.BytesAt(s.Offset, maxInstruction)
	is := true
	switch {
	case s.isX86():
		in, ok := decode(code, s.isX86_64())
		is = isNop(code) || ok && (in.encoding == oneByte && in.opcode() == 0x90 || in.encoding == twoByte && in.opcode() == 0x1f)
	case s.probe.Machine == elf.EM_AARCH64:
		is = notes.SiteKindOf(notes.Machine(s.probe.Machine), s.probe.ByteOrder, code) == notes.SiteNop
	}
	if !is {
		s.Reason = fmt.Errorf("the code at the site is no nop, as it is where probes are compiled: the file has been changed since: %w", ErrUnsafe)
	}
}

// isNop reports whether code begins with one of the nops that [Planner.nops] knows.
func isNop(code []byte) bool {
	return bytes.HasPrefix(code, nop1) || bytes.HasPrefix(code, nop10) || isNop5(code)
}

// isNop5 reports whether code begins with a nop of five bytes in any of its
// spellings, all of which Linux 6.18 optimises: nop and nopl (0f 1f /0), with
// prefixes. Compilers write others than assemblers do.
func isNop5(code []byte) bool {
	i := 0
	for i < len(code) && isPrefix(code[i]) {
		i++
	}
	exchange := i > 0 && code[i-1]&0xf1 == 0x41 // of %r8
	code = code[i:]
	switch {
	case len(code) > 0 && code[0] == 0x90:
		return i+1 == 5 && !exchange
	case len(code) < 3 || code[0] != 0x0f || code[1] != 0x1f || code[2]>>3&7 != 0:
		return false
	}
	size, mod, rm := 3, code[2]>>6, code[2]&7
	if mod == 3 {
		return i+size == 5
	}
	if rm == 4 { // an SIB byte follows
		if len(code) < 4 {
			return false
		}
		size, rm = 4, code[3]&7
	}
	switch {
	case mod == 1:
		size++
	case mod == 2 || rm == 5:
		size += 4
	}
	return i+size == 5
}

// isPrefix reports whether c comes before the opcode of a 64-bit instruction
// that can be probed.
func isPrefix(c byte) bool {
	switch c {
	case 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3: // %fs, %gs, sizes, repetition
		return true
	}
	return c&0xf0 == 0x40 // REX
}
