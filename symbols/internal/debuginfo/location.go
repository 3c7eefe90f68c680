package debuginfo

import (
	"errors"

	"github.com/go-usdt/usdt/symbols/internal/dwarfop"
)

// Kinds of places.
const (
	InRegister = iota + 1 // the value is in register Reg
	InMemory              // at the address in register Reg plus Off
	AtAddress             // at Off, an address in the file
	Constant              // the value is Off
	Sum                   // the value is that of register Reg plus Off
)

// Place is where a value is.
type Place struct {
	Kind uint8
	Reg  uint8 // its number in DWARF
	Bit  uint8 // of the register, where the value begins
	Off  int64
	// Follow says that an address is there, and that the value is at that address plus FollowOff.
	Follow    bool
	FollowOff int64
}

// Reasons for which the value of a variable is not known.
var (
	errOptimisedOut = errors.New("optimised out here")
	errEntryValue   = errors.New("optimised out here: only what it was at the function's entry is known")
	errNoPointee    = errors.New("optimised out here: the pointer's value is not kept")
	errComplex      = errors.New("debugging information computes it in a way that is not supported")
	errThread       = errors.New("it is thread-local")
	errFrame        = errors.New("no table of call frames says where the function's frame is")
	errInPieces     = errors.New("it is in several pieces")
)

// piece is a part of a value.
type piece struct {
	place Place
	size  uint64 // 0 for all of it
	err   error
}

// at returns where the size bytes at an offset of a value are, which is in pieces.
func at(pieces []piece, offset, size uint64) (Place, error) {
	for _, p := range pieces {
		if p.size != 0 && offset >= p.size {
			offset -= p.size
			continue
		}
		if p.size != 0 && offset+size > p.size {
			return Place{}, errInPieces
		}
		if p.err != nil {
			return Place{}, p.err
		}
		return p.place.member(offset)
	}
	return Place{}, errOptimisedOut
}

// member returns where what lies at an offset of a value is.
func (p Place) member(offset uint64) (Place, error) {
	switch {
	case p.Follow:
		p.FollowOff += int64(offset)
	case p.Kind == InMemory || p.Kind == AtAddress:
		p.Off += int64(offset)
	case p.Kind == InRegister && offset < 8:
		p.Bit += uint8(8 * offset)
	case offset != 0:
		return p, errInPieces
	}
	return p, nil
}

// through returns where what lies at an offset from the pointer in a place is.
func (p Place) through(offset int64) (Place, error) {
	switch {
	case p.Follow:
		return p, errors.New("it lies behind two pointers, of which one is followed")
	case p.Kind == InRegister:
		return Place{Kind: InMemory, Reg: p.Reg, Off: offset}, nil
	case p.Kind == Sum:
		return Place{Kind: InMemory, Reg: p.Reg, Off: p.Off + offset}, nil
	case p.Kind == InMemory || p.Kind == AtAddress:
		p.Follow, p.FollowOff = true, offset
		return p, nil
	}
	return p, errNoPointee
}

// term is a number on the stack of an expression: an address or, if loaded, what is there.
type term struct {
	hasReg, static bool // static: off is an address in the file
	reg            uint8
	off            int64
	loaded         bool
	more           int64 // added to what was loaded
}

// plus adds a constant.
func (t term) plus(n int64) term {
	if t.loaded {
		t.more += n
	} else {
		t.off += n
	}
	return t
}

// memory returns the place at the address t.
func (t term) memory() (Place, error) {
	p := Place{Kind: InMemory, Reg: t.reg, Off: t.off, Follow: t.loaded, FollowOff: t.more}
	switch {
	case t.static:
		p.Kind = AtAddress
	case !t.hasReg:
		return p, errComplex
	}
	return p, nil
}

// value returns the place of the value t.
func (t term) value() (Place, error) {
	switch {
	case t.loaded && t.more == 0:
		t.loaded = false
		return t.memory()
	case t.loaded || t.static:
		return Place{}, errComplex
	case t.hasReg && t.off == 0:
		return Place{Kind: InRegister, Reg: t.reg}, nil
	case t.hasReg:
		return Place{Kind: Sum, Reg: t.reg, Off: t.off}, nil
	}
	return Place{Kind: Constant, Off: t.off}, nil
}

// frame is what the places of a function's variables are relative to.
type frame struct {
	base func() (term, error)
	cfa  func() (term, error)
	// entry says that the address is the function's entry: registers have what they had there.
	entry bool
}

// locate returns where an expression says that a value is.
func (d *Info) locate(u *unit, code []byte, f *frame) []piece {
	fail := func(err error) []piece { return []piece{{err: err}} }
	var stack []term
	var pieces []piece
	var register, value, have bool
	var implicit error
	b := buffer{data: code, bo: d.bo}
	pop := func() term {
		if len(stack) == 0 {
			b.failed = true
			return term{}
		}
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return t
	}
	end := func(size uint64) {
		p := piece{size: size, err: implicit}
		switch {
		case implicit != nil:
		case !have:
			p.err = errOptimisedOut
		default:
			t := pop()
			if register {
				p.place = Place{Kind: InRegister, Reg: t.reg}
			} else if value {
				p.place, p.err = t.value()
			} else {
				p.place, p.err = t.memory()
			}
		}
		pieces = append(pieces, p)
		register, value, have, implicit = false, false, false, nil
	}
	for len(b.data) > 0 && !b.failed && len(stack) < 64 {
		op := b.u8()
		push := func(t term) { stack, have = append(stack, t), true }
		switch {
		case op >= dwarfop.Lit0 && op < dwarfop.Lit0+32:
			push(term{off: int64(op - dwarfop.Lit0)})
		case op >= dwarfop.Reg0 && op < dwarfop.Reg0+32:
			register = true
			push(term{hasReg: true, reg: op - dwarfop.Reg0})
		case op == dwarfop.Regx:
			register = true
			push(term{hasReg: true, reg: uint8(min(b.uleb(), 255))})
		case op >= dwarfop.Breg0 && op < dwarfop.Breg0+32:
			push(term{hasReg: true, reg: op - dwarfop.Breg0, off: b.sleb()})
		case op == dwarfop.Bregx:
			reg := uint8(min(b.uleb(), 255))
			push(term{hasReg: true, reg: reg, off: b.sleb()})
		case op == dwarfop.Addr:
			push(term{static: true, off: int64(b.uint(u.enc.addr))})
		case op == dwarfop.Addrx || op == dwarfop.GNUAddrIndex:
			push(term{static: true, off: int64(d.addressAt(u, b.uleb()))})
		case op >= dwarfop.Const1u && op <= dwarfop.Const8s:
			size := 1 << ((op - dwarfop.Const1u) / 2)
			n := int64(b.uint(size))
			if op&1 != 0 {
				shift := 64 - 8*size
				n = n << shift >> shift
			}
			push(term{off: n})
		case op == dwarfop.Constu:
			push(term{off: int64(b.uleb())})
		case op == dwarfop.Consts:
			push(term{off: b.sleb()})
		case op == dwarfop.Fbreg || op == dwarfop.CallFrameCFA:
			from, off := f.cfa, int64(0)
			if op == dwarfop.Fbreg {
				from, off = f.base, b.sleb()
			}
			t, err := from()
			if err != nil {
				return fail(err)
			}
			push(t.plus(off))
		case op == dwarfop.PlusUconst:
			push(pop().plus(int64(b.uleb())))
		case op == dwarfop.Plus || op == dwarfop.Minus:
			y, x := pop(), pop()
			if op == dwarfop.Plus && !x.hasReg && !x.static {
				x, y = y, x
			}
			if y.hasReg || y.static || y.loaded {
				return fail(errComplex)
			}
			if op == dwarfop.Minus {
				y.off = -y.off
			}
			push(x.plus(y.off))
		case op == dwarfop.Deref:
			t := pop()
			if t.loaded || !t.hasReg && !t.static {
				return fail(errComplex)
			}
			t.loaded = true
			push(t)
		case op == dwarfop.StackValue:
			value = true
		case op == dwarfop.ImplicitValue:
			n := b.uleb()
			block := b.take(n)
			if n == 0 || n > 8 {
				return fail(errComplex)
			}
			v := buffer{data: append(block[:n:n], make([]byte, 8)...)[:8], bo: d.bo}
			value = true
			push(term{off: int64(v.u64())})
		case op == dwarfop.Piece:
			if end(b.uleb()); len(pieces) > 16 {
				return fail(errComplex)
			}
		case op == dwarfop.Nop:
		case op == dwarfop.EntryValue || op == dwarfop.GNUEntryValue:
			if reg, ok := inRegister(b.take(b.uleb())); ok && f.entry {
				value = true
				push(term{hasReg: true, reg: reg})
				break
			}
			implicit = errEntryValue
		case op == dwarfop.ImplicitPtr || op == dwarfop.GNUImplicitPtr:
			b.uint(u.enc.offset)
			b.sleb()
			implicit = errNoPointee
		case op == dwarfop.FormTLS || op == dwarfop.GNUTLS:
			return fail(errThread)
		case implicit != nil: // what is done with a value that is not known
			b.data = nil
		default:
			return fail(errComplex)
		}
	}
	if b.failed {
		return fail(errComplex)
	}
	if len(pieces) == 0 || have || implicit != nil {
		end(0)
	}
	return pieces
}

// inRegister returns the register that an expression says a value is in, if it says no more.
func inRegister(code []byte) (reg uint8, ok bool) {
	if len(code) != 1 || code[0] < dwarfop.Reg0 || code[0] >= dwarfop.Reg0+32 {
		return 0, false
	}
	return code[0] - dwarfop.Reg0, true
}

// Number says how the value of a place is computed: as reader.Variable has it.
func (p *Place) Number() (register int, offset int64, memory bool) {
	switch p.Kind {
	case InRegister:
		return int(p.Reg), 0, false
	case Sum:
		return int(p.Reg), p.Off, false
	case InMemory:
		return int(p.Reg), p.Off, true
	case AtAddress:
		return -1, p.Off, true
	}
	return -1, p.Off, false
}
