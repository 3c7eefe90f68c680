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
	start, parts, end := alternatives(pattern)
	if parts == nil {
		return []string{pattern}, nil
	}
	var all []string
	for _, part := range parts {
		some, err := braces(pattern[:start] + part + pattern[end:])
		if all = append(all, some...); err != nil || len(all) > maxAlternatives {
			return nil, errBraces
		}
	}
	return all, nil
}

// alternatives finds the braces around a comma that close first, from start to end, and what is between
// their commas; there are no parts without such braces. It reads a pattern once, however many braces it has.
func alternatives(pattern string) (start int, parts []string, end int) {
	type open struct {
		at     int
		inner  int // parentheses and angle brackets that were open
		commas []int
	}
	var opened []open
	inner := 0
	for i := 0; i < len(pattern); i++ {
		last := len(opened) - 1
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			opened = append(opened, open{at: i, inner: inner})
		case c == '(' || c == '<':
			inner++
		case c == ')' || c == '>':
			inner--
		case c == ',' && last >= 0 && opened[last].inner == inner:
			opened[last].commas = append(opened[last].commas, i)
		case c == '}' && last >= 0:
			b := opened[last]
			if opened = opened[:last]; b.commas == nil {
				continue
			}
			from := b.at + 1
			for _, comma := range append(b.commas, i) {
				parts, from = append(parts, pattern[from:comma]), comma+1
			}
			return b.at, parts, i + 1
		}
	}
	return 0, nil, 0
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
