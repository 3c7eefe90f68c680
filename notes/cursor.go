package notes

import (
	"math"
	"math/bits"
	"strconv"
)

// cursor reads the operand of one argument. Its methods report whether they found
// what they look for. The first one that did not has recorded why, through fail.
type cursor struct {
	grammar *grammar
	class   Class

	text string // the whole argument
	pos  int

	reg Register // the register, if the operand is one

	msg   string // why reading stopped
	msgAt int
}

// fail records the first error, at an offset in the text. It returns false,
// for the caller to return.
func (c *cursor) fail(at int, msg string) bool {
	if c.msg == "" {
		c.msg, c.msgAt = msg, at
	}
	return false
}

// unexpected fails at the current position.
func (c *cursor) unexpected(want string) bool {
	if c.pos >= len(c.text) {
		return c.fail(len(c.text), "expected "+want+", found the end")
	}
	return c.fail(c.pos, "expected "+want+", found "+strconv.Quote(c.text[c.pos:c.pos+1]))
}

// peek returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	if c.pos < len(c.text) {
		return c.text[c.pos]
	}
	return 0
}

func (c *cursor) accept(b byte) bool {
	if c.pos < len(c.text) && c.text[c.pos] == b {
		c.pos++
		return true
	}
	return false
}

func (c *cursor) expect(b byte) bool {
	return c.accept(b) || c.unexpected(strconv.QuoteRune(rune(b)))
}

// blanks skips blanks, which only brackets may hold.
func (c *cursor) blanks() {
	for c.pos < len(c.text) && isBlank(c.text[c.pos]) {
		c.pos++
	}
}

// while returns the text from here to the first byte for which in is false.
func (c *cursor) while(in func(byte) bool) string {
	start := c.pos
	for c.pos < len(c.text) && in(c.text[c.pos]) {
		c.pos++
	}
	return c.text[start:c.pos]
}

// word is while(isAlnum), which reads most operands.
func (c *cursor) word() string {
	start := c.pos
	for c.pos < len(c.text) && isAlnum(c.text[c.pos]) {
		c.pos++
	}
	return c.text[start:c.pos]
}

// register reads a register's name. A sigil other than 0 must stand before it.
func (c *cursor) register(sigil byte) (name string, r Register, ok bool) {
	at := c.pos
	if name, ok = c.registerName(sigil); !ok {
		return "", r, false
	}
	if r, ok = c.lookup(name); !ok {
		return "", r, c.notRegister(at)
	}
	return name, r, true
}

// registerName is like register but does not look the name up.
func (c *cursor) registerName(sigil byte) (name string, ok bool) {
	if sigil != 0 && !c.accept(sigil) {
		return "", c.unexpected("a register")
	}
	start := c.pos
	if c.word() == "st" && c.peek() == '(' { // x87: %st(1)
		for c.pos < len(c.text) && c.text[c.pos-1] != ')' {
			c.pos++
		}
	}
	if name = c.text[start:c.pos]; name == "" {
		return "", c.unexpected("a register")
	}
	return name, true
}

func (c *cursor) lookup(name string) (r Register, ok bool) {
	return c.grammar.register(name, c.wordSize())
}

// notRegister fails for the name that begins at offset at.
func (c *cursor) notRegister(at int) bool {
	return c.fail(at, strconv.Quote(c.text[at:c.pos])+" is not a register")
}

// wordSize returns the size of a general register in bytes.
func (c *cursor) wordSize() int { return c.grammar.word(c.class) }

// bareRegister reads a register that has no sigil, at a place where a symbol could
// also stand. If there is a symbol, done is false and nothing is read. A name like a register's,
// of a letter in letters and a number, is no symbol.
func (c *cursor) bareRegister(a *Arg, letters string) (done, ok bool) {
	start := c.pos
	name := c.while(isSymbol)
	if r, ok := c.lookup(name); ok {
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

// number reads an unsigned number, decimal or hexadecimal.
func (c *cursor) number() (n uint64, ok bool) {
	start := c.pos
	text := c.word()
	if text == "" {
		return 0, c.unexpected("a number")
	}
	if n, ok := decimal(text); ok {
		return n, true
	}
	digits, base := text, uint64(10)
	if len(text) > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		digits, base = text[2:], 16
	} else if len(text) > 1 && text[0] == '0' {
		// An assembler reads it as octal, most readers of notes as decimal.
		return 0, c.fail(start, strconv.Quote(text)+" is ambiguous: decimal and hexadecimal numbers only")
	}
	for i := range len(digits) {
		d := digitValue(digits[i])
		if d >= base {
			return 0, c.fail(start, strconv.Quote(text)+" is not a number")
		}
		hi, lo := bits.Mul64(n, base)
		var carry uint64
		if n, carry = bits.Add64(lo, d, 0); hi|carry != 0 {
			return 0, c.fail(start, text+" does not fit in 64 bits")
		}
	}
	return n, true
}

// decimal reads a decimal number of a length that fits.
func decimal(s string) (n uint64, ok bool) {
	if len(s) > 18 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, false
		}
		n = 10*n + uint64(s[i]-'0')
	}
	return n, true
}

// expr is a sum of numbers and at most one symbol, as in 40+sym@GOTOFF: the
// number's magnitude and sign.
type expr struct {
	mag           uint64
	neg           bool
	symbol, reloc string
}

// add adds a number, negative if neg is true. ok is false if the sum overflows.
func (e *expr) add(mag uint64, neg bool) (ok bool) {
	switch {
	case neg == e.neg:
		var carry uint64
		e.mag, carry = bits.Add64(e.mag, mag, 0)
		ok = carry == 0
	case mag > e.mag:
		e.mag, e.neg, ok = mag-e.mag, neg, true
	default:
		e.mag, ok = e.mag-mag, true
	}
	return ok
}

// int64 returns the number if it fits into a signed integer of 64 bits.
func (e *expr) int64() (n int64, ok bool) {
	if e.neg {
		return int64(-e.mag), e.mag <= 1<<63
	}
	return int64(e.mag), e.mag <= math.MaxInt64
}

// sum reads an expr.
func (c *cursor) sum() (e expr, ok bool) {
	start := c.pos
	for first := true; ; first = false {
		neg := false
		switch b := c.peek(); {
		case b == '+' || b == '-':
			c.pos++
			neg = b == '-'
		case !first:
			return e, true
		}
		if !first && c.accept('-') { // sym+-8
			neg = !neg
		}
		switch b := c.peek(); {
		case isDigit(b):
			n, ok := c.number()
			if !ok {
				return e, false
			}
			if !e.add(n, neg) {
				return e, c.fail(start, c.text[start:c.pos]+" does not fit in 64 bits")
			}
		case isSymbolStart(b):
			at := c.pos
			symbol := c.while(isSymbol)
			switch {
			case neg:
				return e, c.fail(at, "symbol "+strconv.Quote(symbol)+" cannot be subtracted")
			case e.symbol != "":
				return e, c.fail(at, strconv.Quote(symbol)+" is a second symbol")
			}
			e.symbol = symbol
			if c.accept('@') {
				if e.reloc, ok = c.reloc(); !ok {
					return e, false
				}
			}
		default:
			return e, c.unexpected("a number or a symbol")
		}
	}
}

// reloc reads the name of a relocation, or of several where the grammar allows that:
// toc@l.
func (c *cursor) reloc() (name string, ok bool) {
	start := c.pos
	for {
		if c.while(isReloc) == "" {
			return "", c.unexpected("the name of a relocation")
		}
		if !c.grammar.relocations || !c.accept('@') {
			return c.text[start:c.pos], true
		}
	}
}

// setRegister makes the operand a register.
func (c *cursor) setRegister(a *Arg, name string, r Register) bool {
	a.Kind, a.Reg, c.reg = Reg, name, r
	return true
}

// immediate reads a sum and makes it the operand's value.
func (c *cursor) immediate(a *Arg) bool {
	start := c.pos
	e, ok := c.sum()
	return ok && c.setImmediate(a, e, start)
}

func (c *cursor) setImmediate(a *Arg, e expr, start int) bool {
	if e.symbol != "" {
		a.Kind = Imm
		return c.setDisp(a, e, start)
	}
	if e.neg && e.mag > 1<<63 {
		return c.fail(start, c.text[start:c.pos]+" does not fit in 64 bits")
	}
	a.Kind, a.Value = Imm, e.mag
	if e.neg {
		a.Value = -e.mag
	}
	return true
}

// displacement reads a sum and makes it the displacement of an address.
func (c *cursor) displacement(a *Arg) bool {
	start := c.pos
	e, ok := c.sum()
	return ok && c.setDisp(a, e, start)
}

func (c *cursor) setDisp(a *Arg, e expr, start int) bool {
	disp, ok := e.int64()
	if !ok {
		return c.fail(start, "displacement "+c.text[start:c.pos]+" does not fit in 64 bits")
	}
	a.Disp, a.Symbol, a.Reloc = disp, e.symbol, e.reloc
	return true
}

// address fails if r, read at offset at, cannot be part of an address.
func (c *cursor) address(r Register, at int) bool {
	if r.Kind != GeneralRegister && r.Kind != ZeroRegister && r.Kind != ProgramCounter {
		return c.fail(at, strconv.Quote(c.text[at:c.pos])+" cannot be part of an address")
	}
	return true
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }
func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isAlnum(b byte) bool { return isDigit(b) || isAlpha(b) || b == '_' || b == '.' }

// isSymbolStart excludes '$', which begins registers and constants.
func isSymbolStart(b byte) bool { return isAlpha(b) || b == '_' || b == '.' || b >= 0x80 }
func isSymbol(b byte) bool      { return isSymbolStart(b) || isDigit(b) || b == '$' }

func isReloc(b byte) bool { return isAlpha(b) || isDigit(b) || b == '_' }

// digitValue returns the value of a hexadecimal digit, or 16 for other bytes.
func digitValue(b byte) uint64 {
	switch {
	case isDigit(b):
		return uint64(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return uint64(b|0x20-'a') + 10
	}
	return 16
}
