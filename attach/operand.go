package attach

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/notes"
)

type operandKind uint8

const (
	opConst    operandKind = iota // value
	opRegister                    // base, and pair above it
	opAddress                     // base + disp
	opMemory                      // size bytes at base + index<<scale + disp
)

// operand is an argument in the form in which programs are generated from it.
// It is comparable, so that probes with equal operands share a program.
type operand struct {
	kind  operandKind
	size  uint8 // bytes of the value: 1, 2, 4 or 8
	value uint64

	base, index, pair          location
	hasBase, hasIndex, hasPair bool
	scale                      uint8 // as a shift
	extend                     uint8 // bits of the index that count, sign-extended if extendSigned; 0 for all
	extendSigned               bool
	disp                       int64
	wrap32                     bool

	// opMemory: the value read is an address, and the operand's value is at it
	// and followDisp.
	follow     bool
	followDisp int64
}

// compileOperand turns an argument into an operand. site is the link-time
// address of the site, as the object's symbols count addresses, and ipDelta
// what a program finds in the instruction pointer beyond it.
func compileOperand(a notes.Arg, regs *registers, m elf.Machine, c elf.Class, obj *object, site uint64, ipDelta int64) (operand, error) {
	if a.Err != nil {
		return operand{}, a.Err
	}
	switch a.Size {
	case 1, 2, 4, 8:
	default:
		return operand{}, fmt.Errorf("a value of %d bytes is not an integer that events can hold", a.Size)
	}
	op := operand{size: uint8(a.Size), wrap32: regs.wrap32}
	var err error
	switch a.Kind {
	case notes.Imm:
		op.kind, op.value = opConst, a.Value
		if a.Symbol != "" {
			return compileSymbolAddress(a, op, regs, obj, site, ipDelta)
		}
		return op, nil
	case notes.Reg:
		op.kind, op.hasBase = opRegister, true
		if op.base, err = regs.locate(m, c, a.Reg); err != nil {
			return operand{}, err
		}
		if a.Pair != "" {
			op.hasPair = true
			op.pair, err = regs.locate(m, c, a.Pair)
		}
		return op, err
	case notes.Mem:
		return compileMemory(a, op, regs, m, c, obj, site, ipDelta)
	}
	return operand{}, fmt.Errorf("argument of unknown kind %v", a.Kind)
}

// compileSymbolAddress is for an operand whose value is the address of a
// symbol, which only the distance to the site tells: objects are relocatable.
func compileSymbolAddress(a notes.Arg, op operand, regs *registers, obj *object, site uint64, ipDelta int64) (operand, error) {
	addr, err := obj.symbols.Resolve(&a)
	if err != nil {
		return operand{}, err
	}
	if a.Reloc == "lo12" {
		op.kind, op.value = opConst, addr+uint64(a.Disp)
		return op, nil
	}
	op.kind, op.value = opAddress, 0
	op.base, op.hasBase = location{off: regs.ip, size: 8}, true
	op.disp = int64(addr-site) + a.Disp - ipDelta
	return op, nil
}

func compileMemory(a notes.Arg, op operand, regs *registers, m elf.Machine, c elf.Class, obj *object, site uint64, ipDelta int64) (operand, error) {
	op.kind, op.disp = opMemory, a.Disp
	if a.Segment != "" {
		return operand{}, fmt.Errorf("thread-local memory (%%%s:) is beyond what a BPF program can address", a.Segment)
	}
	ipRelative := a.Base == "rip" || a.Base == "eip"
	if a.Symbol != "" {
		if a.Reloc == "GOTPCREL" || a.Reloc == "GOT" {
			// The operand is a GOT slot, and the slot holds the symbol's address,
			// which may be another object's. Without a relocation the linker has
			// filled it with the object's own.
			if slot, ok := obj.symbols.Slot(a.Symbol); ok && a.Disp == 0 {
				op.base, op.hasBase = location{off: regs.ip, size: 8}, true
				op.disp = int64(slot-site) - ipDelta
				return op, nil
			}
			return compileSymbolAddress(a, op, regs, obj, site, ipDelta)
		}
		addr, err := obj.symbols.Resolve(&a)
		if err != nil {
			return operand{}, err
		}
		switch {
		case a.Reloc == "GOTOFF", a.Reloc == "lo12":
			// Numbers that hold wherever the object lies.
			op.disp += int64(addr)
		case ipRelative:
			op.disp += int64(addr-site) - ipDelta
		case a.Base == "" && a.Index == "":
			// A fixed address as the linker saw it: the distance to the site
			// holds wherever the object lies.
			op.base, op.hasBase = location{off: regs.ip, size: 8}, true
			op.disp += int64(addr-site) - ipDelta
		case obj.relocatable():
			return operand{}, fmt.Errorf("address of %s is added to a register, but the object has no fixed address", a.Symbol)
		default:
			op.disp += int64(addr)
		}
	} else if ipRelative {
		return operand{}, errors.New("memory relative to the instruction pointer without a symbol: the end of the instruction is unknown")
	}
	var err error
	if a.Base != "" {
		op.hasBase = true
		if op.base, err = regs.locate(m, c, a.Base); err != nil {
			return operand{}, err
		}
	}
	if a.Index != "" {
		op.hasIndex = true
		if op.index, err = regs.locate(m, c, a.Index); err != nil {
			return operand{}, err
		}
		if op.scale, err = log2(a.Scale); err != nil {
			return operand{}, err
		}
		switch a.Extend {
		case "", "lsl", "uxtx", "sxtx":
		case "uxtw":
			op.extend = 32
		case "sxtw":
			op.extend, op.extendSigned = 32, true
		default:
			return operand{}, fmt.Errorf("index extension %q is not known", a.Extend)
		}
	}
	if !op.hasBase && !op.hasIndex && obj.relocatable() {
		return operand{}, errors.New("memory at a fixed address of an object that has none")
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
