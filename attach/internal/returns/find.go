package returns

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// Function is what is known of a function.
type Function struct {
	Machine elf.Machine
	Class   elf.Class
	// Parts are its code: the function itself, and what a compiler has moved elsewhere.
	Parts []Part
	// Unreached says that code may run although no instruction leads there: where an exception is
	// caught, and where a Go function returns that has recovered from a panic.
	Unreached bool
	// Compiled says that Go's compiler has made the code: no data is in it, and jumps through
	// tables stay within it.
	Compiled bool
	// Word reads the address that the file has at an address, for tables of jumps; ok is
	// false if it is not known.
	Word func(addr uint64) (word uint64, ok bool)
}

// Part is code at an address.
type Part struct {
	Address uint64
	Code    []byte
}

// LeaveError says that a function may leave by a jump.
type LeaveError struct {
	At     uint64 // of the jump
	Target uint64 // 0 if it is not known
}

func (e *LeaveError) Error() string {
	if e.Target == 0 {
		return fmt.Sprintf("the function leaves by a jump at %#x to an address that it computes (a tail call)", e.At)
	}
	return fmt.Sprintf("the function leaves by a jump at %#x to %#x (a tail call)", e.At, e.Target)
}

// ErrNone says that a function never returns.
var ErrNone = errors.New("the function has no return instruction")

// kind is what an instruction does to what runs next.
type kind uint8

const (
	unknown kind = iota // it is not known what the bytes are
	plain
	idle   // a nop
	call   // which may not come back
	branch // perhaps to the target
	jump   // to the target
	table  // to some address in the function
	tail   // to an address that is not known
	end    // of what runs
	ret
	oddRet // a return that no probe can be at, or that is not to the caller
)

// insn is an instruction.
type insn struct {
	kind   kind
	size   int
	target uint64
}

// machine reads instructions of an architecture.
type machine struct {
	// read reads the first instruction of code; before are the instructions that ran before it.
	read func(f *Function, code []byte, addr uint64, before [][]byte) insn
	// skips reports whether a jump may lead n bytes behind the beginning of code, an instruction.
	skips func(code []byte, n int) bool
	// data returns where an instruction reads its operand from the code; size is 0 if it does not.
	data func(code []byte, addr uint64) (at uint64, size int)
}

var machines = map[elf.Machine]*machine{elf.EM_X86_64: &x86Machine, elf.EM_386: &x86Machine, elf.EM_AARCH64: &arm64Machine}

// mark says what a byte of code is.
type mark uint8

const (
	unseen mark = iota
	start       // an instruction begins
	within
	data // that an instruction reads
)

// walk is a walk through a function.
type walk struct {
	f      *Function
	m      *machine
	marks  [][]mark // by part
	todo   []uint64
	found  []uint64
	tables bool // whether a jump through a table was seen
}

// Find returns the addresses of the function's return instructions, in ascending order.
func (f *Function) Find() ([]uint64, error) {
	m := machines[f.Machine]
	if m == nil || len(f.Parts) == 0 || len(f.Parts[0].Code) == 0 {
		return nil, errors.New("the function's code is not known")
	}
	w := &walk{f: f, m: m}
	for i := range f.Parts {
		w.marks = append(w.marks, make([]mark, len(f.Parts[i].Code)))
	}
	w.todo = append(w.todo, f.Parts[0].Address)
	if err := w.follow(); err != nil {
		return nil, err
	}
	if f.Unreached || w.tables {
		if err := w.rest(); err != nil {
			return nil, err
		}
	}
	if len(w.found) == 0 {
		return nil, ErrNone
	}
	slices.Sort(w.found)
	return w.found, nil
}

// part returns the part that has an address, and its place there; -1 if none has.
func (w *walk) part(addr uint64) (part, at int) {
	for i := range w.f.Parts {
		if p := &w.f.Parts[i]; addr-p.Address < uint64(len(p.Code)) {
			return i, int(addr - p.Address)
		}
	}
	return -1, 0
}

// follow follows the code from the addresses that are still to be visited.
func (w *walk) follow() error {
	for len(w.todo) > 0 {
		last := len(w.todo) - 1
		addr := w.todo[last]
		w.todo = w.todo[:last]
		if err := w.run(addr); err != nil {
			return err
		}
	}
	return nil
}

// rest follows the code to which no instruction leads.
func (w *walk) rest() error {
	for i, marks := range w.marks {
		for at, m := range marks {
			if m != unseen || marks[at] != unseen {
				continue
			}
			w.todo = append(w.todo, w.f.Parts[i].Address+uint64(at))
			if err := w.follow(); err != nil {
				return err
			}
		}
	}
	return nil
}

// looksBack is how many instructions before a jump are looked at.
const looksBack = 8

// run follows the code from an address on, until it does not go on.
func (w *walk) run(addr uint64) error {
	i, at := w.part(addr)
	p, marks := &w.f.Parts[i], w.marks[i]
	var before [][]byte
	var in insn
	for {
		addr = p.Address + uint64(at)
		switch {
		case at >= len(p.Code) && (in.kind == call || in.kind == idle):
			return nil // the call does not come back
		case at >= len(p.Code):
			return fmt.Errorf("the function goes on behind its end at %#x", addr)
		case marks[at] == start, marks[at] == data && (in.kind == call || in.kind == idle):
			return nil
		case marks[at] != unseen && !w.skipped(i, at):
			return fmt.Errorf("instructions of the function overlap at %#x", addr)
		}
		code := p.Code[at:]
		if in = w.m.read(w.f, code, addr, before); in.kind == unknown {
			return fmt.Errorf("the instruction at %#x cannot be disassembled", addr)
		}
		for n := range in.size {
			switch {
			case marks[at+n] != start:
				marks[at+n] = within
			case !w.m.skips(code, n):
				return fmt.Errorf("instructions of the function overlap at %#x", addr+uint64(n))
			}
		}
		marks[at] = start
		if err := w.note(in, addr, code[:in.size]); err != nil {
			return err
		}
		switch in.kind {
		case jump, table, end, ret:
			return nil
		}
		before = append(before[max(0, len(before)-looksBack+1):], code[:in.size])
		at += in.size
	}
}

// skipped reports whether a jump may lead into an instruction, behind a prefix of it.
func (w *walk) skipped(part, at int) bool {
	n := 1
	for at-n > 0 && w.marks[part][at-n] == within {
		n++
	}
	return at >= n && w.m.skips(w.f.Parts[part].Code[at-n:], n)
}

// note notes where an instruction leads.
func (w *walk) note(in insn, addr uint64, code []byte) error {
	if at, size := w.m.data(code, addr); size > 0 {
		if i, from := w.part(at); i >= 0 {
			for n := from; n < min(from+size, len(w.marks[i])); n++ {
				if w.marks[i][n] != unseen && w.marks[i][n] != data {
					return fmt.Errorf("the function reads its instruction at %#x", at)
				}
				w.marks[i][n] = data
			}
		}
	}
	switch in.kind {
	case ret:
		w.found = append(w.found, addr)
	case oddRet:
		return fmt.Errorf("the function returns at %#x by an instruction that no probe can be at", addr)
	case table:
		w.tables = true
	case tail:
		return &LeaveError{At: addr}
	case branch, jump:
		if i, _ := w.part(in.target); i < 0 {
			return &LeaveError{addr, in.target}
		}
		w.todo = append(w.todo, in.target)
	}
	return nil
}
