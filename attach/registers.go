package attach

import (
	"debug/elf"
	"fmt"
	"runtime"

	"github.com/go-usdt/usdt/notes"
)

// registers says where a BPF program attached to a uprobe finds the registers
// of the traced program: offsets in the structure that its context points to.
type registers struct {
	byName  map[string]int16 // by canonical name, see notes.Register
	byDWARF []int16
	ip      int16
	// argument is the first register of an integer argument, where there is one.
	argument location
	wrap32   bool // addresses of the traced program wrap at 2^32
}

// location is a register, or a part of one, in a BPF program's context.
type location struct {
	off   int16
	shift uint8 // bits by which the part lies above the register's lowest
	size  uint8 // bytes
	zero  bool  // arm64's zero register: no location at all
}

// registersOf returns the table for a program of machine m and class c, traced
// on a host of architecture goarch.
func registersOf(goarch string, m elf.Machine, c elf.Class) (*registers, error) {
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

// hostRegisters is registersOf for this host.
func hostRegisters(m elf.Machine, c elf.Class) (*registers, error) {
	return registersOf(runtime.GOARCH, m, c)
}

// locate finds a register by the name that a probe's note uses.
func (r *registers) locate(m elf.Machine, c elf.Class, name string) (location, error) {
	reg, ok := notes.LookupRegister(m, c, name)
	if !ok {
		return location{}, fmt.Errorf("register %q is not known on %v", name, m)
	}
	off, ok := r.byName[reg.Name]
	switch {
	case reg.Kind == notes.ZeroRegister:
		return location{zero: true, size: 8}, nil
	case reg.Kind == notes.ProgramCounter:
		off = r.ip
	case reg.Kind == notes.VectorRegister:
		return location{}, fmt.Errorf("register %q is a vector register, which a BPF program cannot read", name)
	case !ok:
		return location{}, fmt.Errorf("register %q is not among those that a BPF program can read", name)
	}
	return location{off: off, shift: uint8(reg.Shift), size: uint8(reg.Size)}, nil
}

// locateDWARF finds a full-width register by its DWARF number.
func (r *registers) locateDWARF(n int) (location, error) {
	if n < 0 || n >= len(r.byDWARF) {
		return location{}, fmt.Errorf("a BPF program cannot read DWARF register %d", n)
	}
	return location{off: r.byDWARF[n], size: 8}, nil
}
