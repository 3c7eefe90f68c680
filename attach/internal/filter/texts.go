package filter

import "slices"

// TextTest is a comparison of a name with a text.
type TextTest struct {
	Name    string
	Prefix  int // bytes of the text that count; 0 for all
	Pattern Pattern
}

// TextTests returns the comparisons of names with texts, as Check makes them where a name stands for
// a string.
func (e *Expr) TextTests(names []string) (tests []TextTest) {
	e.comparisons(func(c *Expr) {
		k := &c.constant
		if c.kind != exprCompare || k.Kind != String || !slices.Contains(names, c.value.name) {
			return
		}
		switch c.value.kind {
		case termName, termPrefix:
			test := TextTest{Name: c.value.name, Prefix: c.value.bytes, Pattern: Pattern{Pieces: []string{k.Literal}}}
			if c.operator == "~" {
				test.Pattern = parsePattern(k.glob)
			}
			tests = append(tests, test)
		}
	})
	return tests
}

// Holds reports whether the pattern matches a text, of whose bytes the first MaxString count.
func (p Pattern) Holds(text string) bool { return p.matchBeginning([]byte(text), false) }
