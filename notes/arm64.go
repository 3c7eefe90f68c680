package notes

import (
	"debug/elf"
	"math"
	"math/bits"
	"strconv"
)

func arm64Register(name string) (Register, bool) {
	switch name {
	case "sp", "x31": // x31 is no assembler's name, but the one that readers of pt_regs use
		return Register{Name: "sp", Kind: GeneralRegister, DWARF: 31, Size: 8}, true
	case "wsp":
		return Register{Name: "sp", Kind: GeneralRegister, DWARF: 31, Size: 4}, true
	case "xzr":
		return Register{Name: "xzr", Kind: ZeroRegister, DWARF: -1, Size: 8}, true
	case "wzr":
		return Register{Name: "xzr", Kind: ZeroRegister, DWARF: -1, Size: 4}, true
	case "pc":
		return Register{Name: "pc", Kind: ProgramCounter, DWARF: 32, Size: 8}, true
	case "lr":
		name = "x30"
	case "fp":
		name = "x29"
	case "ip0":
		name = "x16"
	case "ip1":
		name = "x17"
	}
	if n, ok := index(name, "x", 31); ok {
		return Register{Name: xNames[n], Kind: GeneralRegister, DWARF: n, Size: 8}, true
	}
	if n, ok := index(name, "w", 31); ok {
		return Register{Name: xNames[n], Kind: GeneralRegister, DWARF: n, Size: 4}, true
	}
	for i, prefix := range [...]string{"b", "h", "s", "d", "q"} {
		if n, ok := index(name, prefix, 32); ok {
			return vector("v", n, 64+n, 1<<i)
		}
	}
	if n, ok := index(name, "v", 32); ok {
		return vector("v", n, 64+n, 16)
	}
	return Register{}, false
}

// arm64Operand reads REG, [BASE], [BASE, IMM], [BASE, INDEX, lsl 3], an
// immediate with or without '#', or a symbol. Without '#' that is the memory
// it names, since sys/sdt.h lets no address of a symbol be a constant here.
func arm64Operand(c *cursor, a *Arg) bool {
	switch b := c.peek(); {
	case b == '[':
		return armAddress(c, a)
	case b == '#':
		c.pos++
		return armImmediate(c, a)
	case isSymbolStart(b):
		if done, ok := c.bareRegister(a, "xwvqdshb"); done {
			return ok
		}
	}
	if !armImmediate(c, a) {
		return false
	}
	if a.Symbol != "" {
		a.Kind = Mem
	}
	return true
}

// bareRegister reads a register where it has no sigil, so that a symbol could
// stand there too. done is false, and nothing read, if it is a symbol. A name
// like a register's, of a letter in letters and a number, is no symbol.
func (c *cursor) bareRegister(a *Arg, letters string) (done, ok bool) {
	start := c.pos
	name := c.while(isSymbol)
	if r, ok := LookupRegister(c.machine, c.class, name); ok {
		return true, c.setRegister(a, name, r)
	}
	for i := range len(letters) {
		if _, ok := index(name, letters[i:i+1], 100); ok {
			return true, c.fail(start, strconv.Quote(name)+" is not a register")
		}
	}
	c.pos = start
	return false, false
}

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

// float passes over a number written with a point or an exponent. It returns
// false, anywhere, if there is none.
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

// colonRelocated reads a sum that may have a relocation in front: :lo12:sym.
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

// armAddress reads the addresses of both ARM architectures, except those that
// change their base register: no operand of a probe may.
func armAddress(c *cursor, a *Arg) bool {
	c.pos++
	a.Kind = Mem
	c.blanks()
	at := c.pos
	name, r, ok := c.register(0)
	if !ok || !c.address(r, at) {
		return false
	}
	if r.Size != generalSize(c.machine, c.class) || r.Kind == ZeroRegister {
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
		if !armIndex(c, a) {
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
func armIndex(c *cursor, a *Arg) bool {
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
		case c.machine == elf.EM_AARCH64 && (shift == "sxtw" || shift == "uxtw"):
			a.Extend = shift
		case c.machine == elf.EM_AARCH64 && (shift == "sxtx" || shift == "uxtx") && r.Size == 8:
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
			if limit := armShiftLimit(c.machine); n > limit {
				return c.fail(at, "shift by "+strconv.FormatUint(n, 10)+" is more than "+strconv.FormatUint(limit, 10))
			}
			a.Scale = 1 << n
		}
	}
	if r.Size < generalSize(c.machine, c.class) && a.Extend == "" {
		return c.fail(at, name+" needs sxtw or uxtw as an index register")
	}
	return true
}

// armShiftLimit is what the instructions can encode, less arm's shift by 31,
// which an int of 32 bits could not hold as a factor.
func armShiftLimit(m elf.Machine) uint64 {
	if m == elf.EM_AARCH64 {
		return 4
	}
	return 30
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
