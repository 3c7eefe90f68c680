package symbols

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-usdt/usdt/internal/pcln"
	"github.com/go-usdt/usdt/symbols/internal/cfi"
)

// maxStack is the number of frames that are unwound.
const maxStack = 1024

// Calls are the addresses of a stack.
type Calls struct {
	// PCs are the program counter and then the addresses to which calls return.
	PCs []uint64
	// Exact are indices of PCs behind the first: of instructions that ran when a signal
	// interrupted their function, and that are therefore no return addresses.
	Exact []int
	// Cut says why callers are missing, nil if the stack was unwound to its end.
	Cut error
}

// Reasons for which callers are missing.
var (
	errTooDeep   = fmt.Errorf("it has more than %d calls", maxStack)
	errCopyEnds  = errors.New("the part of the stack that was copied ends")
	errElsewhere = errors.New("it goes on in memory that was not copied: another stack")
	errNoCode    = errors.New("a call returns to where no code is mapped")
)

// Unwind appends the addresses of a stack to dst, as [Space.Stack] takes them. stack is a
// copy of the stack's memory from the stack pointer on. Unwind ends where the copy or the
// stack ends, or where no table says who the caller is.
//
// C, C++ and Rust are unwound by .eh_frame or .debug_frame, Go by .gopclntab, code
// without either by frame pointers, and functions that a signal interrupted by the frame
// that the kernel has put on the stack.
func (s *Space) Unwind(dst []uint64, regs *Registers, stack []byte) Calls {
	u := unwinder{space: s, machine: regs.machine, regs: regs.values, stack: cfi.Stack{Start: regs.SP(), Data: stack}}
	s.mu.Lock()
	u.regions = s.regions
	s.mu.Unlock()
	defer u.release()
	calls := Calls{PCs: append(dst, regs.PC())}
	for exact, n := true, 1; ; n++ { // exact: the program counter is that of an instruction that runs
		if n > maxStack {
			calls.Cut = errTooDeep
			return calls
		}
		before := u.regs[u.machine.SP]
		pc := u.regs[cfi.PC]
		if !exact {
			pc--
		}
		u.last, u.away = false, false
		var ok bool
		if exact, ok = u.step(pc, exact); !ok {
			calls.Cut = u.cut(pc)
			return calls
		}
		if u.regs[cfi.PC] == 0 {
			return calls
		}
		if u.stray && NoCode(u.regs[cfi.PC]) {
			calls.Cut = errNoCode
			return calls
		}
		// Callers are above, except for functions that keep the return address in a register, of
		// which there is one.
		if sp := u.regs[u.machine.SP]; !exact && (sp < before || sp == before && n > 1) {
			calls.Cut = errElsewhere
			return calls
		}
		if exact {
			calls.Exact = append(calls.Exact, len(calls.PCs)-len(dst))
		}
		calls.PCs = append(calls.PCs, u.regs[cfi.PC])
	}
}

// NoCode reports whether no process can have code at an address: below what may be mapped
// (/proc/sys/vm/mmap_min_addr), or above what user space has (5-level page tables, or arm64's
// 52 bits). A register that holds no frame pointer often leads to such addresses.
func NoCode(addr uint64) bool { return addr < 1<<12 || addr >= 1<<56 }

// near is how far above the copy a stack pointer may be that belongs to the same stack.
const near = 1 << 20

// cut returns why the code at pc has no caller, nil if it is the outermost.
func (u *unwinder) cut(pc uint64) error {
	g := regionAt(u.regions, pc)
	sp, fp := u.regs[u.machine.SP], u.regs[u.machine.FP]
	switch {
	case u.last:
		return nil
	case g == nil:
		return errNoCode
	case u.away || sp-u.stack.Start > uint64(len(u.stack.Data))+near:
		return errElsewhere
	case u.stray:
		if fp == 0 {
			return nil // as the ABI has it where stacks end
		}
		if fp < sp || fp%8 != 0 {
			return fmt.Errorf("nothing says who called %s, which has neither tables nor frame pointers", path.Base(g.Path))
		}
	}
	return errCopyEnds
}

// unwinder unwinds one stack.
type unwinder struct {
	space   *Space
	regions []region
	machine *cfi.Machine
	regs    cfi.Registers
	stack   cfi.Stack
	away    bool // whether it is known to have come from another stack
	last    bool // whether the function of the last step is known to have no caller
	stray   bool // whether the last step was by a frame pointer, which need not be one

	held  [8]heldFrames // what was used last
	count int
}

// heldFrames is what unwinds the code of a region.
type heldFrames struct {
	region *region
	item   *item
	frames *frameTables
}

// frameTables is what says who called the code of an object.
type frameTables struct {
	object *object
	cfi    *cfi.Table
	golang *pcln.Table
}

func (u *unwinder) release() {
	for i := range u.held[:min(u.count, len(u.held))] {
		u.space.resolver.cache.release(u.held[i].item)
	}
}

// step goes to the caller of the code at pc, which is in front of a return address unless
// it is exact. interrupted reports that a signal interrupted the caller.
func (u *unwinder) step(pc uint64, exact bool) (interrupted, ok bool) {
	u.stray = false
	g := regionAt(u.regions, pc)
	if g == nil || g.mapped == nil {
		return false, u.byTrampoline(pc) || u.byFramePointer()
	}
	t := u.tables(g)
	if t == nil {
		return false, u.byFramePointer()
	}
	addr, ok := t.object.address(pc - g.Start + g.Offset)
	if !ok {
		return false, u.byFramePointer()
	}
	if next := addr + 1; !exact && t.object.isRestorer(next) {
		return true, u.bySignalFrame()
	}
	if t.golang != nil {
		size, top, away, ok := t.golang.FrameSize(addr)
		if u.last, u.away = top, away; ok || away {
			return false, ok && !top && u.byFrameSize(size)
		}
	}
	if t.cfi != nil && t.cfi.Machine() == u.machine {
		if row := t.cfi.Row(addr); row != nil {
			u.last = row.Last(u.machine)
			return row.Step(u.machine, &u.regs, &u.stack)
		}
	}
	return false, u.byFramePointer()
}

// tables returns what unwinds the code of g, nil if there is nothing.
func (u *unwinder) tables(g *region) *frameTables {
	for i := range u.held[:min(u.count, len(u.held))] {
		if u.held[i].region == g {
			return u.held[i].frames
		}
	}
	c := u.space.resolver.cache
	object := u.space.resolver.objectOf(g.mapped)
	defer c.release(object)
	it := c.get(cacheKey{object.key.object, unwind}, object, func(*item) (any, int64, error) {
		return newFrameTables(object)
	})
	h := heldFrames{region: g, item: it}
	h.frames, _ = it.value.(*frameTables)
	slot := &u.held[u.count%len(u.held)]
	if u.count >= len(u.held) {
		c.release(slot.item)
	}
	*slot = h
	u.count++
	return h.frames
}

// newFrameTables reads what unwinds an object's code.
func newFrameTables(it *item) (any, int64, error) {
	o, ok := it.value.(*object)
	if !ok {
		return nil, 0, errNoFile
	}
	t := &frameTables{object: o, golang: o.golang()}
	size := int64(0)
	if t.cfi, _ = cfi.Read(o.elf); t.cfi != nil {
		size = t.cfi.Size()
	}
	return t, size, nil
}

// byTrampoline goes to the caller of CPython's perf trampoline, which on x86-64 moves
// the stack pointer by 8 bytes and calls (Python/asm_trampoline.S, before frame
// pointers came to it).
func (u *unwinder) byTrampoline(pc uint64) bool {
	sp := u.regs[u.machine.SP]
	if u.machine != cfi.AMD64 || u.regs[u.machine.FP] == sp || !u.space.jit.isPython(pc) {
		return false
	}
	ra, ok := u.stack.Word(sp + 8)
	if !ok {
		return false
	}
	u.regs[cfi.PC], u.regs[u.machine.SP] = ra, sp+16
	return true
}

// byFramePointer goes to the caller by the frame pointer, which leads to the caller's,
// with the return address behind it.
func (u *unwinder) byFramePointer() bool {
	u.stray = true
	fp := u.regs[u.machine.FP]
	if fp < u.regs[u.machine.SP] || fp%8 != 0 {
		return false
	}
	caller, ok := u.stack.Word(fp)
	ra, known := u.stack.Word(fp + 8)
	if !ok || !known {
		return false
	}
	u.regs[u.machine.FP], u.regs[cfi.PC], u.regs[u.machine.SP] = caller, ra&u.machine.Mask, fp+16
	return true
}

// byFrameSize goes to the caller of a Go function whose frame has this size.
func (u *unwinder) byFrameSize(size uint64) bool {
	sp := u.regs[u.machine.SP]
	if u.machine.Link != 0 {
		ra := u.regs[u.machine.Link]
		if size > 0 {
			// The return address is at the bottom of the frame, the caller's frame
			// pointer below that (cmd/internal/obj/arm64).
			var ok bool
			if ra, ok = u.stack.Word(sp); !ok {
				return false
			}
			if fp, ok := u.stack.Word(sp - 8); ok {
				u.regs[u.machine.FP] = fp
			}
		}
		u.regs[cfi.PC], u.regs[u.machine.SP], u.regs[u.machine.Link] = ra&u.machine.Mask, sp+size, 0
		return true
	}
	ra, ok := u.stack.Word(sp + size)
	if !ok {
		return false
	}
	if size >= 8 {
		// The caller's frame pointer is next to the return address
		// (cmd/internal/obj/x86).
		if fp, ok := u.stack.Word(sp + size - 8); ok {
			u.regs[u.machine.FP] = fp
		}
	}
	u.regs[cfi.PC], u.regs[u.machine.SP] = ra, sp+size+8
	return true
}
