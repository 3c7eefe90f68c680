// Package operand turns the arguments of notes into operands, the form in which BPF
// programs read them: constants, registers in the kernel's pt_regs and memory, with
// symbols resolved by the object that has the probe.
package operand

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

type operandKind uint8

const (
	Const    operandKind = iota // value
	Register                    // base, and pair above it
	Address                     // base + disp
	Memory                      // size bytes at base + index<<scale + disp
	Task                        // what is known of the task: value is a source of package query
)

// Operand is an argument in the form from which programs are generated. Operands
// are comparable, so that probes with equal ones share a program.
type Operand struct {
	Kind  operandKind
	Size  uint8 // bytes of the value: 1, 2, 4 or 8
	Value uint64

	Base, Index, Pair          Location
	HasBase, HasIndex, HasPair bool
	Scale                      uint8 // as a shift
	Extend                     uint8 // bits of the index that count, sign-extended if ExtendSigned; 0 for all
	ExtendSigned               bool
	Disp                       int64
	Wrap32                     bool

	// Follow says that the value read, of Memory, is an address, and that the
	// operand's value is at that address plus FollowDisp. The address has Pointer bytes,
	// Size if that is 0.
	Follow     bool
	FollowDisp int64
	Pointer    uint8

	// Further is how often the value found so is an address again: the next value is at that
	// address plus the next of FurtherDisp.
	Further     uint8
	FurtherDisp [maxFurther]int32

	// Held, of Memory, says that the value has to do with what an interface holds.
	Held Held

	// Site, if it is not 0, is the address of the site in its file: the value, unless it is 0, is an
	// address, and becomes the one that it has in the file. IP is where the site's own is.
	Site uint64
	IP   Location

	// Plus is added to the value that is read.
	Plus int64

	// Bits is how many bits of what is read are the value, above BitsAbove others and with a sign if
	// BitsSigned; 0 for all. Programs make it a number of 8 bytes.
	Bits, BitsAbove uint8
	BitsSigned      bool
}

// ValueSize returns how many bytes the value has that programs make of the operand.
func (op *Operand) ValueSize() uint8 {
	if op.Bits > 0 {
		return 8
	}
	return op.Size
}

// Field returns the operand for some bits of what op has.
func (op Operand) Field(bits, above int, signed bool) Operand {
	if bits == 0 {
		return op
	}
	op.Bits, op.BitsAbove, op.BitsSigned = uint8(bits), uint8(above), signed
	if op.Kind == Const {
		op.Value <<= 64 - above - bits
		if op.Value >>= 64 - bits; signed && op.Value>>(bits-1) != 0 {
			op.Value |= ^uint64(0) << (bits - 1)
		}
		op.Size, op.Bits, op.BitsAbove, op.BitsSigned = 8, 0, 0, false
	}
	return op
}

// maxFurther bounds the addresses that are followed behind two others.
const maxFurther = 6

// Compile turns an argument into an operand. site is the link-time address of the
// site, as the object's symbols count addresses. ipDelta is the instruction
// pointer that a program finds minus the site's address. obj is nil if it cannot be opened.
func Compile(a notes.Arg, regs *Registers, m elf.Machine, c elf.Class, obj *Object, site uint64, ipDelta int64) (Operand, error) {
	if a.Err != nil {
		return Operand{}, a.Err
	}
	switch a.Size {
	case 1, 2, 4, 8:
	default:
		return Operand{}, fmt.Errorf("a value of %d bytes is not an integer that events can hold", a.Size)
	}
	if a.Symbol != "" && obj == nil {
		return Operand{}, fmt.Errorf("the object that has the symbol %s cannot be opened", a.Symbol)
	}
	op := Operand{Size: uint8(a.Size), Wrap32: regs.wrap32}
	var err error
	switch a.Kind {
	case notes.Imm:
		op.Kind, op.Value = Const, a.Value
		if a.Symbol != "" {
			return compileSymbolAddress(a, op, regs, obj, site, ipDelta)
		}
		return op, nil
	case notes.Reg:
		op.Kind, op.HasBase = Register, true
		if op.Base, err = regs.Locate(m, c, a.Reg); err != nil {
			return Operand{}, err
		}
		if a.Pair != "" {
			op.HasPair = true
			op.Pair, err = regs.Locate(m, c, a.Pair)
		}
		return op, err
	case notes.Mem:
		return compileMemory(a, op, regs, m, c, obj, site, ipDelta)
	}
	return Operand{}, fmt.Errorf("argument of unknown kind %v", a.Kind)
}

// compileSymbolAddress compiles an operand whose value is the address of a
// symbol. Objects are relocatable, so the address is computed from its distance
// to the site.
func compileSymbolAddress(a notes.Arg, op Operand, regs *Registers, obj *Object, site uint64, ipDelta int64) (Operand, error) {
	addr, err := obj.Symbols.Resolve(&a)
	if err != nil {
		return Operand{}, err
	}
	if a.Reloc == "lo12" {
		op.Kind, op.Value = Const, addr+uint64(a.Disp)
		return op, nil
	}
	op.Kind, op.Value = Address, 0
	op.Base, op.HasBase = Location{Off: regs.IP, Size: 8}, true
	op.Disp = int64(addr-site) + a.Disp - ipDelta
	return op, nil
}

func compileMemory(a notes.Arg, op Operand, regs *Registers, m elf.Machine, c elf.Class, obj *Object, site uint64, ipDelta int64) (Operand, error) {
	op.Kind, op.Disp = Memory, a.Disp
	if a.Segment != "" {
		return Operand{}, fmt.Errorf("a BPF program cannot address thread-local memory (%%%s:)", a.Segment)
	}
	ipRelative := a.Base == "rip" || a.Base == "eip"
	if a.Symbol != "" {
		if a.Reloc == "GOTPCREL" || a.Reloc == "GOT" {
			// The operand is a GOT slot, which holds the symbol's address, maybe
			// in another object. If there is no relocation, the linker has filled the slot with
			// the object's own.
			if slot, ok := obj.Symbols.Slot(a.Symbol); ok && a.Disp == 0 {
				op.Base, op.HasBase = Location{Off: regs.IP, Size: 8}, true
				op.Disp = int64(slot-site) - ipDelta
				return op, nil
			}
			return compileSymbolAddress(a, op, regs, obj, site, ipDelta)
		}
		addr, err := obj.Symbols.Resolve(&a)
		if err != nil {
			return Operand{}, err
		}
		switch {
		case a.Reloc == "GOTOFF", a.Reloc == "lo12":
			// Absolute addresses hold wherever the object lies.
			op.Disp += int64(addr)
		case ipRelative:
			op.Disp += int64(addr-site) - ipDelta
		case a.Base == "" && a.Index == "":
			// The address is fixed at link time: its distance to the site holds
			// wherever the object lies.
			op.Base, op.HasBase = Location{Off: regs.IP, Size: 8}, true
			op.Disp += int64(addr-site) - ipDelta
		case obj.Relocatable():
			return Operand{}, fmt.Errorf("address of %s is added to a register, but the object has no fixed address", a.Symbol)
		default:
			op.Disp += int64(addr)
		}
	} else if ipRelative {
		return Operand{}, errors.New("memory relative to the instruction pointer without a symbol: the end of the instruction is unknown")
	}
	var err error
	if a.Base != "" {
		op.HasBase = true
		if op.Base, err = regs.Locate(m, c, a.Base); err != nil {
			return Operand{}, err
		}
	}
	if a.Index != "" {
		op.HasIndex = true
		if op.Index, err = regs.Locate(m, c, a.Index); err != nil {
			return Operand{}, err
		}
		if op.Scale, err = log2(a.Scale); err != nil {
			return Operand{}, err
		}
		switch a.Extend {
		case "", "lsl", "uxtx", "sxtx":
		case "uxtw":
			op.Extend = 32
		case "sxtw":
			op.Extend, op.ExtendSigned = 32, true
		default:
			return Operand{}, fmt.Errorf("index extension %q is not known", a.Extend)
		}
	}
	if !op.HasBase && !op.HasIndex && obj.Relocatable() {
		return Operand{}, errors.New("the memory is at a fixed address, and the object has none")
	}
	return op, nil
}

// Followed returns the operand for the value at an offset from the address that
// op has.
func (op Operand) Followed(offset int64) (Operand, error) {
	switch {
	case op.Plus != 0:
		return op, errors.New("the argument is an address within a structure, which is not followed")
	case op.Follow && (op.Further == maxFurther || int64(int32(offset)) != offset):
		return op, fmt.Errorf("it lies behind more than %d pointers, or too far from one", maxFurther+2)
	case op.Follow:
		op.FurtherDisp[op.Further] = int32(offset)
		op.Further++
	case op.Kind == Memory:
		op.Follow, op.FollowDisp = true, offset
	case op.Kind == Address:
		op.Kind, op.Disp = Memory, op.Disp+offset
	case op.Kind == Register && !op.HasPair:
		op.Kind, op.Disp = Memory, offset
	default:
		return op, errors.New("the argument is not an address that can be followed")
	}
	return op, nil
}

// Added returns the operand for the address at an offset from the address that op has.
func (op Operand) Added(offset int64) (Operand, error) {
	switch {
	case int64(int32(offset)) != offset:
		return op, fmt.Errorf("it is %d bytes from where a pointer leads", offset)
	case op.Kind == Memory:
		op.Plus += offset
	case op.Kind == Address:
		op.Disp += offset
	case op.Kind == Register && !op.HasPair:
		op.Kind, op.Disp = Address, offset
	default:
		return op, errors.New("the argument is not an address that can be followed")
	}
	return op, nil
}

func log2(n int) (uint8, error) {
	for s := range uint8(4) {
		if n == 1<<s {
			return s, nil
		}
	}
	return 0, fmt.Errorf("index factor %d is not 1, 2, 4 or 8", n)
}
