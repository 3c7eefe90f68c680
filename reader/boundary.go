package reader

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"

	"github.com/go-usdt/usdt/internal/x86"
)

// ErrBoundary is wrapped by [Probe.SiteErr] if it is not known whether an
// instruction begins at the site: a breakpoint within one would change it.
var ErrBoundary = errors.New("the instruction boundaries are unknown")

// maxWalk is the largest number of bytes of a function that walk disassembles.
const maxWalk = 16 << 20

// boundary returns nil if an instruction begins off bytes behind the
// function's entry.
func (fn *Function) boundary(off uint64) error {
	if off == 0 && !fn.unbounded {
		return nil
	}
	name := fn.Name()
	if name == "" {
		name = fmt.Sprintf("%#x", fn.Address)
	}
	switch {
	case fn.unbounded:
		return fmt.Errorf("no symbol and no unwinding table covers the address %#x: %w", fn.Address, ErrBoundary)
	case fn.Size != 0 && off >= fn.Size:
		return fmt.Errorf("%s has only %d bytes", name, fn.Size)
	case off > maxWalk:
		return fmt.Errorf("%s+%#x is more than %d bytes behind the entry: %w", name, off, maxWalk, ErrBoundary)
	}
	before, after, err := fn.around(off)
	switch {
	case err != nil:
		return fmt.Errorf("the instruction at %s+%#x cannot be disassembled: %w", name, before, err)
	case before == off:
		return nil
	case len(fn.Symbols) == 0:
		return fmt.Errorf("no instruction begins at %#x: those next to it are at %#x and %#x", fn.Address+off, fn.Address+before, fn.Address+after)
	}
	return fmt.Errorf("no instruction of %s begins at +%#x: those next to it are at +%#x and +%#x", name, off, before, after)
}

// around returns where the last instruction at or before off begins, and where the
// next one does, as offsets from the function's entry. With an error, before is the
// offset up to which the instructions are known.
func (fn *Function) around(off uint64) (before, after uint64, err error) {
	switch e := fn.file.elf; e.Machine {
	case elf.EM_X86_64, elf.EM_386:
		return fn.walk(off)
	case elf.EM_AARCH64:
		const size = 4
		return off / size * size, off/size*size + size, nil
	}
	return 0, 0, ErrBoundary
}

// walk is around for x86: it disassembles the function from its entry on.
func (fn *Function) walk(off uint64) (before, after uint64, err error) {
	const longest = 15 // bytes of an x86 instruction
	e := fn.file.code().elf
	if err := e.Spend(costInsn * off); err != nil {
		return 0, 0, err
	}
	code := make([]byte, off+longest)
	n, err := e.ReadAt(code, int64(fn.Offset))
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	code = code[:n]
	for after <= off {
		before = after
		rest := code[min(before, uint64(len(code))):]
		size := x86.Size(rest[:min(longest, len(rest))], e.Class == elf.ELFCLASS64)
		if size == 0 {
			return before, after, ErrBoundary
		}
		after += uint64(size)
	}
	return before, after, nil
}
