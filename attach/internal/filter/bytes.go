package filter

import (
	"encoding/hex"
	"net/netip"
	"strings"
)

// separators may stand between the digits of an identifier, as in UUIDs and MAC addresses.
var separators = strings.NewReplacer("-", "", ":", "", " ", "")

// compareHex compares the bytes of an identifier with digits.
func (e *Expr) compareHex(c *Condition) error {
	k := &e.constant
	if k.Kind != String {
		return e.lexer.fail(e.constPos, "%s is an identifier: compare it with its hexadecimal digits in quotes, such as \"8c17\"", e.value.name)
	}
	c.Pattern = Pattern{Pieces: []string{k.Literal}}
	switch e.operator {
	case "==":
		c.Op = Match
	case "!=":
		c.Op = Miss
	case "~":
		c.Op, c.Pattern = Match, parsePattern(k.glob)
	default:
		return e.lexer.fail(e.opPos, "identifiers are compared by ==, != and ~ only")
	}
	for i, digits := range c.Pattern.Pieces {
		if i == 0 {
			digits = strings.TrimPrefix(digits, "0x")
		}
		b, err := hex.DecodeString(separators.Replace(digits))
		if err != nil || len(b) > MaxString {
			return e.lexer.fail(e.constPos, "%s is an identifier: compare it with an even number of hexadecimal digits, %d at most", e.value.name, 2*MaxString)
		}
		c.Pattern.Pieces[i] = string(b)
	}
	return nil
}

// orMapped makes a comparison with an IPv4 address one with both of its forms, of 4 and of
// 16 bytes.
func (c *Condition) orMapped() {
	a, _ := netip.AddrFromSlice([]byte(c.Pattern.Pieces[0]))
	if a = a.Unmap(); !a.Is4() {
		return
	}
	short, mapped := *c, *c
	b := a.As16()
	short.Pattern, mapped.Pattern = Pattern{Pieces: []string{string(a.AsSlice())}}, Pattern{Pieces: []string{string(b[:])}}
	op := Or
	if c.Op == Miss {
		op = And
	}
	*c = Condition{Op: op, Left: &short, Right: &mapped}
}
