package notes

import (
	"fmt"
	"slices"
	"strings"
)

// maxArgs bounds what a hostile argument string can make ParseArgs allocate.
// Producers write 12 arguments at most (sys/sdt.h); tools understand up to 255.
const maxArgs = 4096

// ParseArgs decodes the argument string of a note in an object of machine m and class
// c, on any host. It returns an Arg for each argument. An argument that is not
// understood has its Err set and does not affect the others. A string that is empty
// or begins with ':' has no arguments.
//
// The result's strings are parts of s.
func ParseArgs(m Machine, c Class, s string) []Arg {
	if len(s) == 0 || s[0] == ':' {
		return nil
	}
	n := strings.Count(s, "@") // one for each argument, as producers write them
	return AppendArgs(make([]Arg, 0, min(n, maxArgs)), m, c, s)
}

// AppendArgs appends the arguments that [ParseArgs] returns to dst, and returns the
// result.
func AppendArgs(dst []Arg, m Machine, c Class, s string) []Arg {
	if len(s) == 0 || s[0] == ':' {
		return dst
	}
	g, n := grammarOf(m), 0
	for start, end := nextArg(s, 0); start < len(s); start, end = nextArg(s, end) {
		dst = slices.Grow(dst, 1)[:len(dst)+1]
		a := &dst[len(dst)-1]
		*a = Arg{Text: s[start:end], Offset: start}
		if n++; n == maxArgs && len(trimBlanks(s[end:])) > 0 {
			a.Text = s[start:]
			a.Err = &SyntaxError{Arg: a.Text, Offset: start, Msg: fmt.Sprintf("more than %d arguments", maxArgs-1)}
			break
		}
		if g != nil {
			g.parse(g, c, a)
		} else {
			parseUnknown(m, c, a)
		}
	}
	return dst
}

// nextArg returns where the first argument at or behind pos begins and ends, or
// len(s) twice if there is none.
//
// Blanks separate arguments, but also occur in brackets, "[sp, 60]", and behind
// commas, as in LLVM's "$r4, 8" on LoongArch. A word behind a blank that begins with
// an argument's size starts a new argument in any case, so that an unclosed bracket
// spoils only its own argument.
func nextArg(s string, pos int) (start, end int) {
	for pos < len(s) && isBlank(s[pos]) {
		pos++
	}
	start = pos
	depth := 0
	for ; pos < len(s); pos++ {
		b := s[pos]
		if b > ')' && b < '[' {
			continue // most are digits
		}
		switch b {
		case '(', '[':
			depth++
		case ')', ']':
			if depth > 0 {
				depth--
			}
		case ' ', '\t':
			if depth == 0 && s[pos-1] != ',' {
				return start, pos
			}
			end := pos
			for pos+1 < len(s) && isBlank(s[pos+1]) {
				pos++
			}
			if pos+1 == len(s) || hasSize(s[pos+1:]) {
				return start, end
			}
		}
	}
	return start, pos
}

func trimBlanks(s string) string {
	for len(s) > 0 && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}

// hasSize reports whether s begins with a size and an '@'.
func hasSize(s string) bool {
	for i := range min(len(s), len("-16f@")) {
		if s[i] == '@' {
			_, _, _, ok := parseSize(s[:i])
			return ok
		}
	}
	return false
}

// parseSize reads what stands before an argument's '@', such as -4 or 8f.
func parseSize(s string) (size int, signed, float, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		signed, s = true, s[1:]
	}
	if len(s) > 0 && s[len(s)-1] == 'f' {
		float, s = true, s[:len(s)-1]
	}
	switch s {
	case "1", "2", "4", "8":
		size = int(s[0] - '0')
	case "16":
		size = 16
	case "12": // i386's long double
		if float {
			size = 12
		}
	}
	return size, signed, float, size != 0
}

// end completes a if ok reports that c has read its size and operand: nothing may
// follow them, and end derives what the text leaves out.
func (c *cursor) end(a *Arg, ok bool) {
	if ok && c.pos < len(c.text) {
		ok = c.unexpected("the end")
	}
	word := c.wordSize()
	if ok && a.Size == 0 {
		a.Size = min(word, wordSize(c.class))
		if a.Kind == Reg {
			a.Size = c.reg.Size
		}
		if a.Size > 16 || a.Size&(a.Size-1) != 0 {
			ok = c.fail(0, fmt.Sprintf("%s has %d bytes: a size of 1, 2, 4, 8 or 16 must stand before it", a.Reg, a.Size))
		}
	}
	if !ok {
		a.Err = &SyntaxError{Arg: a.Text, Offset: a.Offset + c.msgAt, Msg: c.msg}
		return
	}
	if a.Kind == Reg && a.Size > word && c.reg.Kind == GeneralRegister {
		a.Pair = c.grammar.next(c.reg)
		if a.Pair != "" && isDigit(a.Reg[0]) { // written without the r of rN
			a.Pair = a.Pair[1:]
		}
	}
}

// parseUnknown reports that machine m has no grammar, unless something in front of
// the operand is wrong, which is the same on every machine.
func parseUnknown(m Machine, class Class, a *Arg) {
	c := cursor{grammar: &grammar{}, class: class, text: a.Text}
	c.end(a, c.size(a) && c.fail(c.pos, fmt.Sprintf("the operands of machine %d are not known", m)))
}

// size reads the size and the '@', if the argument has them, up to the operand. The
// text before the first '@' is a size unless it can only begin an operand.
func (c *cursor) size(a *Arg) bool {
	for i := range len(c.text) {
		if c.text[i] != '@' {
			continue
		}
		if b := c.text[0]; i > 0 && b != '-' && b != '+' && !isDigit(b) {
			return true // sym@GOTPCREL(%rip)
		}
		size, signed, float, ok := parseSize(c.text[:i])
		if !ok || size == 12 && !c.grammar.longDouble {
			return c.fail(0, fmt.Sprintf("size %q is not 1, 2, 4, 8 or 16", c.text[:i]))
		}
		a.Size, a.Signed, a.Float = size, signed, float
		c.pos = i + 1
		break
	}
	if c.pos == len(c.text) {
		return c.fail(c.pos, "the operand is missing")
	}
	return true
}
