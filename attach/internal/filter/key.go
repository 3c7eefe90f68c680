package filter

import (
	"slices"
	"strings"
)

// Key is a key of groups or of pairs: the name of an argument, the beginning of a text, a
// function of a text, or an expression, in the grammar of conditions.
type Key struct {
	Text     string // the key, without blanks
	Name     string // of the argument; "" of an expression
	Function string // of the argument; "" for none
	Prefix   int    // the bytes of the text that count; 0 for all

	lexer *lexer
	value *term
}

// ParseKey parses a key. An error is an [*Error].
func ParseKey(input string) (*Key, error) {
	p := &parser{lexer: lexer{input: input}}
	e, err := p.whole()
	if err != nil {
		return nil, err
	}
	if e.kind != exprValue {
		return nil, p.fail(0, "a key is an argument or an expression, not a condition")
	}
	t := e.value
	if len(t.names(nil)) == 0 {
		return nil, p.fail(t.pos, "%s names no argument", input)
	}
	k := &Key{Text: unblanked(input), lexer: &p.lexer, value: t}
	if t.kind != termOperation {
		k.Name, k.Function, k.Prefix = t.name, t.function, t.bytes
	}
	return k, nil
}

// unblanked returns the input without blanks. Blanks that keep others from being read as
// one, as in 1000 - 10 - 10, which is no date, become one.
func unblanked(input string) string {
	words := strings.Fields(input)
	if text := strings.Join(words, ""); slices.Equal(tokens(text), tokens(input)) {
		return text
	}
	return strings.Join(words, " ")
}

// tokens returns the texts of the input's tokens.
func tokens(input string) (all []string) {
	l := lexer{input: input}
	for {
		t, err := l.next()
		if err != nil || t.kind == tokenEnd {
			return all
		}
		all = append(all, t.text)
	}
}

// Names returns the names in the key.
func (k *Key) Names() []string { return k.value.names(nil) }

// Computed reports whether the key is the result of an expression.
func (k *Key) Computed() bool { return k.value.kind == termOperation }

// Steps returns the steps by which an expression is computed, and the kind of its result:
// Int, Uint or Duration. lookup returns what a name stands for. The error is an
// [*Error].
func (k *Key) Steps(lookup func(name string) (Value, error)) ([]Step, Kind, error) {
	return k.lexer.compute(k.value, func(name string, _ bool) (Value, error) { return lookup(name) })
}
