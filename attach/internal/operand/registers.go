package operand

import (
	"debug/elf"
	"fmt"
	"runtime"

	"github.com/go-usdt/usdt/notes"
)

// Registers says where a BPF program attached to a uprobe finds the registers of
// the traced program: offsets in the structure that its context points to.
type Registers struct {
	ByName  map[string]int16 // by canonical name, see notes.Register
	byDWARF []int16
	IP      int16
	// Argument is the register of the first integer argument, where there is one.
	Argument Location
	slots    []int16
	wrap32   bool // addresses of the traced program wrap at 2^32
	saved    bool // see Location
}

// Location is a register, or a part of one, in a BPF program's context.
type Location struct {
	Off   int16
	Shift uint8 // bits by which the part lies above the register's lowest
	Size  uint8 // bytes
	Zero  bool  // arm64's zero register: no location at all
	// Saved says that the context has no registers: the program has put the word on its stack, at
	// SavedAt + Off.
	Saved bool
	// Slot says that the location is the slot numbered Off of the record.
	Slot bool
	// Record says that the location is the address of the context, which is a tracepoint's record, and
	// Field that it is a value of Size bytes there.
	Record, Field bool
}

// RegistersOf returns the table for a program of machine m and class c, traced on
// a host of architecture goarch.
func RegistersOf(goarch string, m elf.Machine, c elf.Class) (*Registers, error) {
	switch {
	case goarch == "amd64" && m == elf.EM_X86_64:
		return amd64Registers, nil
	case goarch == "amd64" && m == elf.EM_386:
		return i386Registers, nil
	case goarch == "arm64" && m == elf.EM_AARCH64 && c == elf.ELFCLASS64:
		return arm64Registers, nil
	}
	return nil, fmt.Errorf("a program for %v does not run on %s", m, goarch)
}

// GoRegisters returns where the context has the registers of a Go function, at its entry and at
// its returns, that hold its goroutine and its stack pointer (cmd/compile/abi-internal.md).
func GoRegisters() (goroutine, stack int16) {
	if runtime.GOARCH == "arm64" {
		return arm64Registers.ByName["x28"], arm64SP
	}
	return ptR14, ptSP
}

// HostRegisters is RegistersOf for this host.
func HostRegisters(m elf.Machine, c elf.Class) (*Registers, error) {
	return RegistersOf(runtime.GOARCH, m, c)
}

// Locate finds a register by the name that a probe's note uses.
func (r *Registers) Locate(m elf.Machine, c elf.Class, name string) (Location, error) {
	reg, ok := notes.LookupRegister(notes.Machine(m), notes.Class(c), name)
	if !ok {
		return Location{}, fmt.Errorf("register %q is not known on %v", name, m)
	}
	off, ok := r.ByName[reg.Name]
	switch {
	case reg.Kind == notes.ZeroRegister:
		return Location{Zero: true, Size: 8}, nil
	case reg.Kind == notes.ProgramCounter:
		off = r.IP
	case reg.Kind == notes.VectorRegister:
		return Location{}, fmt.Errorf("register %q is a vector register, which a BPF program cannot read", name)
	case !ok:
		return Location{}, fmt.Errorf("register %q cannot be read by a BPF program", name)
	}
	return Location{Off: off, Shift: uint8(reg.Shift), Size: uint8(reg.Size), Saved: r.saved}, nil
}

// Slot returns the register that holds a slot of the argument block of a provider's stub,
// see FORMAT.md; ok is false for slots that are in memory only.
func (r *Registers) Slot(i int) (at Location, ok bool) {
	if i < 0 || i >= len(r.slots) {
		return Location{}, false
	}
	return Location{Off: r.slots[i], Size: 8}, true
}

// LocateDWARF finds a full-width register by its DWARF number.
func (r *Registers) LocateDWARF(n int) (Location, error) {
	if n < 0 || n >= len(r.byDWARF) {
		return Location{}, fmt.Errorf("a BPF program cannot read DWARF register %d", n)
	}
	return Location{Off: r.byDWARF[n], Size: 8}, nil
}
