package selector

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// glob is a compiled pattern.
type glob struct {
	source  string
	literal string // the only string that matches, if tokens is nil
	tokens  []token
	prefix  string // with which all that match begin
	others  []glob // the patterns that braces stand for: each matches
}

// token matches one character, or any number if star is set.
type token struct {
	star, any, not bool
	ranges         []runeRange
}

type runeRange struct{ lo, hi rune }

var (
	errUnclosed  = errors.New("'[' is not closed by ']'")
	errBackslash = errors.New("a backslash ends the pattern")
	errRange     = errors.New("a range of characters runs backwards")
)

// invalid plus a byte stands for a byte that is not UTF-8, which paths may have. It
// lies among the surrogates, which no text decodes to.
const invalid = 0xdc00

// character returns the first character of s and its number of bytes.
func character(s string) (c rune, size int) {
	c, size = utf8.DecodeRuneInString(s)
	if c == utf8.RuneError && size == 1 {
		c = invalid | rune(s[0])
	}
	return c, size
}

func characters(s string) (out []rune) {
	for len(s) > 0 {
		c, size := character(s)
		out, s = append(out, c), s[size:]
	}
	return out
}

func appendCharacter(dst []byte, c rune) []byte {
	if c&^0xff == invalid {
		return append(dst, byte(c))
	}
	return utf8.AppendRune(dst, c)
}

func compile(pattern string) (glob, error) {
	if all, err := braces(pattern); err != nil || len(all) > 1 {
		if err != nil {
			return glob{}, err
		}
		return compileAll(pattern, all)
	}
	g := glob{source: pattern}
	var (
		tokens  []token
		literal []byte
		isGlob  bool
		prefix  int // bytes of literal that come before what may be anything
	)
	for rs := characters(pattern); len(rs) > 0; {
		c := rs[0]
		rs = rs[1:]
		switch c {
		case '*':
			isGlob = true
			if n := len(tokens); n == 0 || !tokens[n-1].star {
				tokens = append(tokens, token{star: true})
			}
			continue
		case '?':
			isGlob = true
			tokens = append(tokens, token{any: true})
			continue
		case '[':
			isGlob = true
			t, rest, err := set(rs)
			if err != nil {
				return g, err
			}
			tokens, rs = append(tokens, t), rest
			continue
		case '\\':
			if len(rs) == 0 {
				return g, errBackslash
			}
			c, rs = rs[0], rs[1:]
		}
		literal = appendCharacter(literal, c)
		if !isGlob {
			prefix = len(literal)
		}
		tokens = append(tokens, token{ranges: []runeRange{{c, c}}})
	}
	if isGlob {
		g.tokens, g.prefix = tokens, string(literal[:prefix])
	} else {
		g.literal = string(literal)
	}
	return g, nil
}

// set parses what follows a '['. A ']' that comes first belongs to the set.
func set(rs []rune) (t token, rest []rune, err error) {
	if len(rs) > 0 && (rs[0] == '!' || rs[0] == '^') {
		t.not, rs = true, rs[1:]
	}
	for first := true; ; first = false {
		if len(rs) == 0 {
			return t, nil, errUnclosed
		}
		if rs[0] == ']' && !first {
			return t, rs[1:], nil
		}
		if rs[0] == '\\' && len(rs) > 1 {
			rs = rs[1:]
		}
		r := runeRange{rs[0], rs[0]}
		rs = rs[1:]
		if len(rs) > 1 && rs[0] == '-' && rs[1] != ']' {
			r.hi, rs = rs[1], rs[2:]
			if r.hi < r.lo {
				return t, nil, errRange
			}
		}
		t.ranges = append(t.ranges, r)
	}
}

func (t *token) matches(c rune) bool {
	if t.any {
		return true
	}
	for _, r := range t.ranges {
		if r.lo <= c && c <= r.hi {
			return !t.not
		}
	}
	return t.not
}

// match reports whether the pattern matches the whole of s, in time proportional to
// at most the product of their lengths.
func (g *glob) match(s string) bool {
	if g.tokens == nil {
		return s == g.literal
	}
	if !strings.HasPrefix(s, g.prefix) {
		return false
	}
	if g.others != nil {
		return slices.ContainsFunc(g.others, func(g glob) bool { return g.match(s) })
	}
	star, again := -1, 0 // the last star, and where in s to resume if what follows the star fails
	t, i := 0, 0
	for i < len(s) {
		c, size := character(s[i:])
		switch {
		case t < len(g.tokens) && g.tokens[t].star:
			star, again = t, i
			if t++; t == len(g.tokens) {
				return true
			}
		case t < len(g.tokens) && g.tokens[t].matches(c):
			t++
			i += size
		case star >= 0:
			_, size := character(s[again:])
			again += size
			t, i = star+1, again
		default:
			return false
		}
	}
	for t < len(g.tokens) && g.tokens[t].star {
		t++
	}
	return t == len(g.tokens)
}
