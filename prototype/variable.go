package prototype

import (
	"path"
	"strings"
)

// Variable is a text that a probe does not pass, and to which a variable of its program points.
type Variable struct {
	Name   string // of the argument
	Symbol string // of the variable
}

type variable struct {
	provider, name string // name may have '*'
	Variable
}

// variable reads a line behind its first word: PROVIDER:NAME, the name of an argument, and a symbol.
func (p *parser) variable(line int) error {
	text := p.words()
	words := strings.Fields(text)
	if len(words) != 3 || !isName(words[1]) || isPlace(words[1]) || !isName(words[2]) {
		return p.fail(line, "want text PROVIDER:NAME, the name of an argument and a symbol, got %q", text)
	}
	provider, name, ok := probesOf(words[0])
	if !ok {
		return p.fail(line, "want text PROVIDER:NAME, the name of an argument and a symbol, got %q", text)
	}
	p.table.variables = append(p.table.variables, variable{provider, name, Variable{words[1], words[2]}})
	return p.advance()
}

// Variables returns the texts of a probe to which variables of its program point.
func (t *Table) Variables(provider, name string) (all []Variable) {
	for ; t != nil && len(all) == 0; t = t.over {
		for _, v := range t.of(provider).variables {
			if ok, _ := path.Match(v.name, name); ok && v.provider == provider {
				all = append(all, v.Variable)
			}
		}
	}
	return all
}

// WithText returns a prototype with a text behind its arguments.
func (p *Prototype) WithText(name string) *Prototype {
	out := *p
	out.Params = append(p.Params[:len(p.Params):len(p.Params)], Param{Name: name, Type: "char *", Kind: Text, Length: -1, passed: passing{kind: Text}})
	return &out
}
