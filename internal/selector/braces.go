package selector

import (
	"errors"
	"strings"
)

// maxAlternatives is the largest number of patterns that braces in one may stand for.
const maxAlternatives = 256

var errBraces = errors.New("braces stand for too many names")

// braces returns the patterns that {A,B} in one stand for, as in shells. Braces around no comma, such as those
// of C++'s {lambda(int, char)#1} and Rust's {closure#0}, are characters as others: a comma in parentheses or
// angle brackets is no comma here.
func braces(pattern string) ([]string, error) {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			parts, end := alternatives(pattern[i:])
			if len(parts) < 2 {
				continue
			}
			var all []string
			for _, part := range parts {
				some, err := braces(pattern[:i] + part + pattern[i+end:])
				if all = append(all, some...); err != nil || len(all) > maxAlternatives {
					return nil, errBraces
				}
			}
			return all, nil
		}
	}
	return []string{pattern}, nil
}

// alternatives cuts what is between the brace that s begins with and the one that closes it at commas. end
// is where that brace ends; there are no parts without one.
func alternatives(s string) (parts []string, end int) {
	depth, inner, from := 0, 0, 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return append(parts, s[from:i]), i + 1
			}
		case '(', '<':
			inner++
		case ')', '>':
			inner--
		case ',':
			if depth == 1 && inner == 0 {
				parts, from = append(parts, s[from:i]), i+1
			}
		}
	}
	return nil, 0
}

// compileAll returns the glob that matches what one of several patterns does.
func compileAll(pattern string, all []string) (glob, error) {
	g := glob{source: pattern, tokens: []token{{star: true}}}
	for i, one := range all {
		other, err := compile(one)
		if err != nil {
			return g, err
		}
		g.others = append(g.others, other)
		prefix := other.literal + other.prefix // one of them is empty
		if i == 0 {
			g.prefix = prefix
		}
		for !strings.HasPrefix(prefix, g.prefix) {
			g.prefix = g.prefix[:len(g.prefix)-1]
		}
	}
	return g, nil
}

// unbraced escapes the braces of a quoted name, where they would stand for several.
func unbraced(q string) string {
	if all, err := braces(q); err != nil || len(all) > 1 {
		return strings.ReplaceAll(q, "{", `\{`)
	}
	return q
}
