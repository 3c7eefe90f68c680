package notes

// displaced reads the operands that begin with a number or a symbol on the
// RISC machines, up to the register in parentheses that makes them addresses.
func (c *cursor) displaced(a *Arg, sigil byte) bool {
	var e expr
	ok := true
	start := c.pos
	switch c.peek() {
	case '(':
	case '%':
		e, ok = c.relocated()
	default:
		e, ok = c.sum()
	}
	switch {
	case !ok:
		return false
	case c.peek() == '(' || e.reloc != "":
		return c.setDisp(a, e, start) && c.parenthesized(a, sigil)
	case e.symbol == "":
		return c.setImmediate(a, e, start)
	}
	a.Kind = Mem
	return c.setDisp(a, e, start)
}

// relocated reads %lo(sym+8), as MIPS and its heirs write it.
func (c *cursor) relocated() (e expr, ok bool) {
	if !c.expect('%') {
		return e, false
	}
	at := c.pos
	reloc, ok := c.reloc()
	if !ok || !c.expect('(') {
		return e, false
	}
	if e, ok = c.sum(); !ok {
		return e, false
	}
	if e.symbol == "" || e.reloc != "" {
		return e, c.fail(at, "%"+reloc+" must have one symbol")
	}
	e.reloc = reloc
	return e, c.expect(')')
}

// parenthesized reads the (REG) behind a displacement that has been read.
func (c *cursor) parenthesized(a *Arg, sigil byte) bool {
	if !c.expect('(') {
		return false
	}
	c.blanks()
	at := c.pos
	name, r, ok := c.register(sigil)
	if !ok || !c.address(r, at) {
		return false
	}
	a.Kind, a.Base = Mem, name
	c.blanks()
	return c.expect(')')
}
