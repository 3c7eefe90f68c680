package prototype

import (
	"fmt"
	"os"
	"slices"
	"strconv"
)

// Limits on files.
const (
	maxFile   = 4 << 20 // bytes
	maxParams = 32
	maxOffset = 1<<31 - 1
)

// ReadFile reads a file of prototypes. The error of a wrong line is a [*SyntaxError].
func ReadFile(path string) (*Table, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d of the largest file of prototypes", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads prototypes as the package's comment describes them. file is the name that
// errors give. The error is a [*SyntaxError].
func Parse(file string, data []byte) (*Table, error) {
	p := &parser{
		lexer: lexer{file: file, rest: string(data), line: 1},
		types: map[string]ctype{}, enums: map[string]*Enum{},
		table: &Table{probes: map[probe][]Prototype{}},
	}
	if len(data) > maxFile {
		return nil, p.fail(1, "the file has more than %d bytes", maxFile)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	for p.tok.text != "" {
		if err := p.declaration(); err != nil {
			return nil, err
		}
	}
	for _, all := range p.table.probes {
		for i := range all {
			p.table.lines = append(p.table.lines, &all[i])
		}
	}
	slices.SortFunc(p.table.lines, func(a, b *Prototype) int { return a.Line - b.Line })
	return p.table, nil
}

type parser struct {
	lexer
	tok   token // the next one
	types map[string]ctype
	enums map[string]*Enum
	table *Table

	pending []pendingLength // of the line that is read
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) wrong(want string) error {
	got := strconv.Quote(p.tok.text)
	switch p.tok.text {
	case "":
		got = "the end of the file"
	case "\n":
		got = "the end of the line"
	}
	return p.fail(p.tok.line, "want %s, got %s", want, got)
}

// accept skips a token, and reports whether it was the next.
func (p *parser) accept(text string) (bool, error) {
	if p.tok.text != text {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(text string) error {
	if p.tok.text != text {
		return p.wrong("'" + text + "'")
	}
	return p.advance()
}

func (p *parser) name(what string) (string, error) {
	name := p.tok.text
	if !isName(name) {
		return "", p.wrong(what)
	}
	return name, p.advance()
}

// declaration reads a line.
func (p *parser) declaration() error {
	if ok, err := p.accept("\n"); ok || err != nil {
		return err
	}
	first, line := p.tok.text, p.tok.line
	if !isName(first) {
		return p.wrong("PROVIDER:NAME(…), typedef, enum, text, silent, note, danger, say or page")
	}
	if err := p.advance(); err != nil {
		return err
	}
	var err error
	switch {
	case p.tok.text == ":":
		err = p.probe(first, line)
	case first == "typedef":
		err = p.typedef()
	case first == "enum":
		err = p.enum()
	case first == "text":
		err = p.variable(line)
	case first == "silent":
		err = p.silent(line)
	case first == "note":
		err = p.note(line)
	case first == "danger":
		err = p.danger(line)
	case first == "say":
		err = p.say(line)
	case first == "page" || first == "pair":
		err = p.look(first, line)
	default:
		return p.wrong("':' after the provider " + first)
	}
	if err != nil {
		return err
	}
	if p.tok.text == "" {
		return nil
	}
	if p.tok.text != "\n" {
		return p.wrong("the end of the line")
	}
	return p.advance()
}

// probe reads a line from the ':' on.
func (p *parser) probe(provider string, line int) error {
	if err := p.advance(); err != nil {
		return err
	}
	name, err := p.name("the name of the probe")
	if err != nil {
		return err
	}
	out := Prototype{Provider: provider, Name: name, File: p.file, Line: line}
	if err := p.expect("("); err != nil {
		return err
	}
	for p.tok.text != ")" {
		if len(out.Params) > 0 || out.More {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		if out.More, err = p.accept("..."); err != nil {
			return err
		} else if out.More {
			break
		}
		if len(out.Params) == maxParams {
			return p.fail(p.tok.line, "a probe has at most %d arguments", maxParams)
		}
		if err := p.param(&out); err != nil {
			return err
		}
	}
	if err := p.expect(")"); err != nil {
		return err
	}
	if err := p.lengths(&out); err != nil {
		return err
	}
	at := probe{provider, name}
	for _, other := range p.table.probes[at] {
		if other.String() == out.String() {
			return p.fail(line, "%s:%s has the same line twice, here and in line %d", provider, name, other.Line)
		}
	}
	p.table.probes[at] = append(p.table.probes[at], out)
	return nil
}
