package notes

import (
	"math"
	"math/bits"
	"strconv"
)

// armImmediate reads an integer, a symbol's address, or a floating-point
// number: gcc has #1.5e+0 on arm.
func armImmediate(c *cursor, a *Arg) bool {
	start := c.pos
	if !c.float() {
		c.pos = start
		e, ok := c.colonRelocated()
		return ok && c.setImmediate(a, e, start)
	}
	text := c.text[start:c.pos]
	f, err := strconv.ParseFloat(text, 8*a.Size)
	switch {
	case err != nil:
		return c.fail(start, strconv.Quote(text)+" is not a number that a float of this size can hold")
	case a.Size == 8:
		a.Value = math.Float64bits(f)
	case a.Size == 4:
		a.Value = uint64(math.Float32bits(float32(f)))
	default:
		return c.fail(start, "only 4 or 8 bytes can be a floating-point number")
	}
	a.Kind = Imm
	return true
}

// float skips a number written with a point or an exponent. It returns false, at an
// unspecified position, if there is none.
func (c *cursor) float() bool {
	if !c.accept('-') {
		c.accept('+')
	}
	if c.while(isDigit) == "" {
		return false
	}
	point := c.accept('.')
	if point {
		c.while(isDigit)
	}
	exponent := c.accept('e') || c.accept('E')
	if exponent && !c.accept('-') {
		c.accept('+')
	}
	return !exponent && point || exponent && c.while(isDigit) != ""
}

// colonRelocated reads a sum with an optional relocation in front: :lo12:sym.
func (c *cursor) colonRelocated() (e expr, ok bool) {
	at := c.pos
	if !c.accept(':') {
		return c.sum()
	}
	reloc, ok := c.reloc()
	if !ok || !c.expect(':') {
		return e, false
	}
	if e, ok = c.sum(); !ok {
		return e, false
	}
	if e.symbol == "" || e.reloc != "" {
		return e, c.fail(at, ":"+reloc+": must have one symbol")
	}
	e.reloc = reloc
	return e, true
}

// armIndexing says what an architecture can do with an index register.
type armIndexing struct {
	shift   uint64 // the most that it can be shifted to the left
	extends bool   // whether its lower 32 bits can be extended: sxtw, uxtw
}

// armAddress reads the addresses of both ARM architectures, except addresses that change their
// base register, since no operand of a probe may.
func armAddress(c *cursor, a *Arg, index armIndexing) bool {
	c.pos++
	a.Kind = Mem
	c.blanks()
	at := c.pos
	name, r, ok := c.register(0)
	if !ok || !c.address(r, at) {
		return false
	}
	if r.Size != c.wordSize() || r.Kind == ZeroRegister {
		return c.fail(at, name+" cannot be a base register")
	}
	a.Base = name
	c.blanks()
	if c.accept(']') {
		return true
	}
	if !c.accept(',') {
		return c.unexpected("',' or ']'")
	}
	c.blanks()
	if b := c.peek(); isSymbolStart(b) {
		if !armIndex(c, a, index) {
			return false
		}
	} else {
		c.accept('#')
		start := c.pos
		e, ok := c.colonRelocated()
		if !ok || !c.setDisp(a, e, start) {
			return false
		}
	}
	c.blanks()
	return c.expect(']')
}

// armIndex reads INDEX or INDEX, SHIFT #N.
func armIndex(c *cursor, a *Arg, index armIndexing) bool {
	at := c.pos
	name, r, ok := c.register(0)
	if !ok || !c.address(r, at) {
		return false
	}
	a.Index, a.Scale = name, 1
	c.blanks()
	if c.accept(',') {
		c.blanks()
		at := c.pos
		shift := c.while(isAlpha)
		switch {
		case shift == "lsl":
		case index.extends && (shift == "sxtw" || shift == "uxtw"):
			a.Extend = shift
		case index.extends && (shift == "sxtx" || shift == "uxtx") && r.Size == 8:
			// Nothing is left to extend.
		default:
			return c.fail(at, "shift "+strconv.Quote(shift)+" is not supported")
		}
		c.blanks()
		if hash := c.accept('#'); hash || shift == "lsl" || isDigit(c.peek()) {
			at := c.pos
			n, ok := c.number()
			if !ok {
				return false
			}
			if limit := index.shift; n > limit {
				return c.fail(at, "shift by "+strconv.FormatUint(n, 10)+" is more than "+strconv.FormatUint(limit, 10))
			}
			a.Scale = 1 << n
		}
	}
	if r.Size < c.wordSize() && a.Extend == "" {
		return c.fail(at, name+" needs sxtw or uxtw as an index register")
	}
	return true
}

func appendARM(dst []byte, a *Arg) []byte {
	switch {
	case a.Kind == Reg:
		return append(dst, a.Reg...)
	case a.Kind == Imm && a.Symbol == "":
		return appendImmediate(append(dst, '#'), a)
	case a.Kind == Imm:
		return appendColonRelocated(append(dst, '#'), a)
	case a.Base == "":
		return appendBare(dst, a) // a symbol may have the name of a register
	}
	dst = append(append(dst, '['), a.Base...)
	switch {
	case a.Index != "":
		dst = append(append(dst, ", "...), a.Index...)
		switch {
		case a.Extend != "":
			dst = append(append(dst, ", "...), a.Extend...)
			if a.Scale > 1 {
				dst = appendShift(append(dst, ' '), a.Scale)
			}
		case a.Scale > 1:
			dst = appendShift(append(dst, ", lsl "...), a.Scale)
		}
	case a.Disp != 0 || a.Symbol != "":
		dst = appendColonRelocated(append(dst, ", #"...), a)
	}
	return append(dst, ']')
}

func appendShift(dst []byte, scale int) []byte {
	return strconv.AppendInt(append(dst, '#'), int64(bits.TrailingZeros(uint(scale))), 10)
}

func appendColonRelocated(dst []byte, a *Arg) []byte {
	if a.Reloc != "" {
		dst = append(dst, ':')
		dst = append(append(dst, a.Reloc...), ':')
	}
	return appendSum(dst, a)
}
