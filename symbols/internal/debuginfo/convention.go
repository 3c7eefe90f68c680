package debuginfo

import (
	"cmp"
	"debug/elf"
	"errors"
	"slices"
)

// Languages (DWARF 5, section 7.12) whose functions are not called as C's are.
const (
	langGo        = 0x16
	langRust      = 0x1c
	langAssembler = 0x8001
)

// convention assigns arguments and results to registers and the stack.
type convention struct {
	golang, rust     bool
	arm              bool
	ints             []uint8 // DWARF's numbers of the registers with arguments
	results          []uint8
	floats           int   // registers of numbers with a fraction
	stack            uint8 // the stack pointer
	top              int64 // distance of the first argument on the stack
	vector           uint8 // DWARF's number of the first vector register
	int, float, next int64 // used so far: registers, and bytes of the stack
}

var errNoRegister = errors.New("the calling convention of this language is not known for such a type, nor for the arguments behind it")

// newConvention returns the convention of functions that are called so, nil if it is not known.
func newConvention(m elf.Machine, lang uint64, call Call) *convention {
	c := &convention{golang: lang == langGo && (call.Go || call.Stack), rust: lang == langRust}
	switch m {
	case elf.EM_X86_64: // System V ABI, AMD64 supplement, 3.2.3 and figure 3.36
		c.ints, c.results, c.floats, c.stack, c.top, c.vector = []uint8{5, 4, 1, 2, 8, 9}, []uint8{0, 1}, 8, 7, 8, 17
		if c.golang { // cmd/compile/abi-internal.md
			c.ints, c.floats = []uint8{0, 3, 2, 5, 4, 8, 9, 10, 11}, 15
		}
	case elf.EM_AARCH64: // Procedure Call Standard for the Arm 64-bit Architecture, 6.8
		c.arm, c.ints, c.results, c.floats, c.stack, c.vector = true, numbered(8), numbered(2), 8, 31, 64
		if c.golang {
			c.ints, c.floats, c.top = numbered(16), 16, 8
		}
	default:
		return nil
	}
	if c.golang {
		c.results = c.ints
	}
	if call.Stack {
		c.ints, c.results, c.floats = nil, nil, 0
	}
	return c
}

func numbered(n int) []uint8 {
	out := make([]uint8, n)
	for i := range out {
		out[i] = uint8(i)
	}
	return out
}

// assign says where arguments and results are. It returns false if that contradicts what
// debugging information says of an argument.
func (c *convention) assign(v *entrance, in, out []parameter) (consistent bool) {
	if !c.golang && len(out) == 1 && !c.arm && c.inMemory(v, &out[0]) {
		c.int++ // where the result goes
	}
	consistent = true
	lost := false
	for i := range in {
		p := &in[i]
		if !lost {
			p.abi, lost = c.pass(v, p, c.ints)
		}
		if lost {
			p.abi = []piece{{err: errNoRegister}}
			continue
		}
		if p.known && len(p.abi) > 0 {
			a, b := p.abi[0], p.pieces[0]
			if a.err == nil && b.err == nil && b.place.Kind == InRegister && a.place != b.place {
				consistent = false
			}
		}
	}
	switch {
	case !c.golang && len(out) == 1:
		out[0].abi = c.result(v, &out[0])
	case lost:
	case c.golang:
		if c.int, c.float = 0, 0; c.next%8 != 0 {
			c.next += 8 - c.next%8
		}
		for i := range out {
			if out[i].abi, lost = c.pass(v, &out[i], c.results); lost {
				break
			}
		}
	}
	return consistent
}

// vectorPiece is a part of a value that is in the n-th vector register.
func (c *convention) vectorPiece(n int64, size uint64) piece {
	return piece{place: Place{Kind: InRegister, Reg: c.vector + uint8(n)}, size: size}
}

// onStack returns the place of the next argument on the stack, and takes it.
func (c *convention) onStack(size uint64, align int64) []piece {
	if c.next%align != 0 {
		c.next += align - c.next%align
	}
	p := piece{place: Place{Kind: InMemory, Reg: c.stack, Off: c.top + c.next}}
	c.next += int64(min(size, 1<<30))
	return []piece{p}
}

// pass says where the next argument, or result of Go, is. lost is true if that is not known.
func (c *convention) pass(v *entrance, p *parameter, regs []uint8) (out []piece, lost bool) {
	var all []part
	whole := true
	if p.typ.node == nil {
		return nil, true
	}
	ok := v.parts(p.typ, 0, 0, &all, &whole)
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.off, b.off) })
	size := p.typ.size()
	switch {
	case c.golang:
		return c.ofGo(all, ok && whole, size, regs)
	case c.rust:
		return c.ofRust(all, ok && whole, size)
	case c.arm:
		return c.ofArm(v.byReference(p.typ, 0), all, ok, size)
	}
	return c.ofSystemV(v.byReference(p.typ, 0), all, ok, size), false
}

// ofGo says where a value is by Go's ABI: all of it in registers, or all on the stack.
func (c *convention) ofGo(all []part, fits bool, size uint64, regs []uint8) (out []piece, lost bool) {
	if len(all) == 0 {
		if !fits {
			return nil, true
		}
		return []piece{{err: errOptimisedOut}}, false
	}
	ints, floats := c.int, c.float
	end := uint64(0)
	for _, p := range all {
		if p.off > end { // padding belongs to the part before it
			out[len(out)-1].size += p.off - end
		}
		if p.float {
			out, floats = append(out, c.vectorPiece(floats, p.size)), floats+1
		} else {
			reg := uint8(0)
			if ints < int64(len(regs)) {
				reg = regs[ints]
			}
			out, ints = append(out, piece{place: Place{Kind: InRegister, Reg: reg}, size: p.size}), ints+1
		}
		end = p.off + p.size
	}
	if !fits || ints > int64(len(regs)) || floats > int64(c.floats) {
		return c.onStack(size, alignment(all)), false
	}
	c.int, c.float = ints, floats
	return out, false
}

// ofRust says where an argument of Rust is. Its convention is not specified: what is certain are
// numbers, pairs of them, and what is too large for two registers.
func (c *convention) ofRust(all []part, fits bool, size uint64) (out []piece, lost bool) {
	if size == 0 {
		return []piece{{err: errOptimisedOut}}, false
	}
	switch {
	case size > 16:
		return c.words([]part{{0, 8, false}}, true), false
	case !fits || len(all) > 2 || size > 16:
		return nil, true
	}
	return c.words(all, false), false
}

// words says where parts are that have a register each, or the address of the value.
func (c *convention) words(all []part, address bool) (out []piece) {
	for i, p := range all {
		size := p.size
		if i+1 < len(all) {
			size = all[i+1].off - p.off
		}
		switch {
		case p.float && c.float < int64(c.floats):
			out, c.float = append(out, c.vectorPiece(c.float, size)), c.float+1
		case !p.float && c.int < int64(len(c.ints)):
			out, c.int = append(out, piece{place: Place{Kind: InRegister, Reg: c.ints[c.int]}, size: size}), c.int+1
		default:
			at := c.onStack(8, 8)[0]
			at.size = size
			out = append(out, at)
		}
	}
	if address && len(out) == 1 {
		at, err := out[0].place.through(0)
		return []piece{{place: at, err: err}}
	}
	return out
}

// classes are the classes of the eight bytes of a value in the System V ABI (3.2.3): whether they are
// passed in a vector register. memory says that the value is passed in memory.
func classes(all []part, size uint64) (vector []bool, memory bool) {
	if size > 16 {
		return nil, true
	}
	vector = make([]bool, (size+7)/8)
	seen := make([]bool, len(vector))
	for _, p := range all {
		if p.float && p.size > 8 || p.size > 0 && p.size <= 8 && p.off%p.size != 0 {
			return nil, true // long double, or a packed structure
		}
		for i := p.off / 8; i <= (p.off+max(p.size, 1)-1)/8 && i < uint64(len(vector)); i++ {
			vector[i] = p.float && (vector[i] || !seen[i])
			seen[i] = true
		}
	}
	return vector, false
}

// inMemory reports whether a result is written where the caller says.
func (c *convention) inMemory(v *entrance, p *parameter) bool {
	var all []part
	whole := true
	ok := v.parts(p.typ, 0, 0, &all, &whole)
	size := p.typ.size()
	switch {
	case v.byReference(p.typ, 0) || size > 16:
		return true
	case c.rust, !ok:
		return false
	}
	_, memory := classes(all, size)
	return memory && !(len(all) > 0 && all[0].float && all[0].size > 8)
}

// ofSystemV says where an argument of C is on amd64.
func (c *convention) ofSystemV(address bool, all []part, ok bool, size uint64) []piece {
	if address {
		return c.words([]part{{0, 8, false}}, true)
	}
	vector, memory := classes(all, size)
	ints, floats := int64(0), int64(0)
	for _, f := range vector {
		if f {
			floats++
		} else {
			ints++
		}
	}
	switch {
	case ok && len(all) == 0: // an empty class
		return []piece{{err: errOptimisedOut}}
	case memory || !ok || c.int+ints > int64(len(c.ints)) || c.float+floats > int64(c.floats):
		align := int64(8)
		if len(all) > 0 && all[0].size == 16 {
			align = 16
		}
		return c.onStack((size+7)&^7, align)
	}
	return c.words(words(vector), false)
}

func words(vector []bool) (all []part) {
	for i, f := range vector {
		all = append(all, part{uint64(8 * i), 8, f})
	}
	return all
}

// sameFloats reports whether a value is one to four equal numbers with a fraction, which have a
// vector register each on arm64 (6.8.2, homogeneous aggregates).
func sameFloats(all []part) bool {
	for _, p := range all {
		if !p.float || p.size != all[0].size {
			return false
		}
	}
	return len(all) >= 1 && len(all) <= 4
}

// ofArm says where an argument of C is on arm64.
func (c *convention) ofArm(address bool, all []part, ok bool, size uint64) (out []piece, lost bool) {
	switch {
	case ok && sameFloats(all):
		if c.float+int64(len(all)) > int64(c.floats) {
			c.float = int64(c.floats)
			return c.onStack((size+7)&^7, 8), false
		}
		return c.words(all, false), false
	case size > 16 || address:
		return c.words([]part{{0, 8, false}}, true), false
	case ok && len(all) == 0:
		return nil, true
	}
	n := int64(size+7) / 8
	if len(all) == 1 && all[0].size == 16 {
		c.int += c.int % 2
	}
	if c.int+n > int64(len(c.ints)) {
		c.int = int64(len(c.ints))
		return c.onStack(uint64(8*n), 8), false
	}
	return c.words(words(make([]bool, n)), false), false
}

// result says where the result of a function of C or Rust is.
func (c *convention) result(v *entrance, p *parameter) []piece {
	var all []part
	whole := true
	ok := v.parts(p.typ, 0, 0, &all, &whole)
	size := p.typ.size()
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.off, b.off) })
	ints, floats := c.results, 2
	c.int, c.float = 0, 0
	c.ints, c.floats = ints, floats
	switch {
	case c.rust && (size == 0 || ok && len(all) == 0):
		return nil
	case c.rust && size <= 16:
		if !ok || !whole || len(all) > 2 {
			return []piece{{err: errNoRegister}}
		}
		return c.words(all, false)
	case c.arm && ok && sameFloats(all):
		c.floats = 4
		return c.words(all, false)
	case c.arm && (size > 16 || v.byReference(p.typ, 0)):
		return []piece{{err: errors.New("it is in memory, at an address that no register has after the return")}}
	case c.arm:
		return c.words(words(make([]bool, (size+7)/8)), false)
	case c.inMemory(v, p):
		return []piece{{place: Place{Kind: InMemory, Reg: ints[0]}}}
	}
	vector, memory := classes(all, size)
	switch {
	case memory: // long double: st(0)
		return []piece{{place: Place{Kind: InRegister, Reg: 33}}}
	case !ok:
		return nil
	}
	return c.words(words(vector), false)
}
