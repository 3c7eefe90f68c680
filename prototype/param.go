package prototype

import "slices"

// reserved are the names that stand for something else in conditions and keys.
var reserved = []string{
	"pid", "tid", "comm", "probe", "machine", "retval", "latency", "cpu", "uid", "gid", "cgroup", "container", "pod", "true", "false",
}

// param reads an argument.
func (p *parser) param(out *Prototype) error {
	a := Param{Length: -1}
	t, typeName, err := p.ctype()
	if err != nil {
		return err
	}
	a.Type, a.Kind, a.Size, a.Enum = typeName, t.kind, t.size, t.enum
	a.passed = passing{kind: t.kind, size: t.size, plain: t.plain}
	line := p.tok.line
	name, err := p.name("the name of an argument of type " + typeName + ", or _")
	if err != nil {
		return err
	}
	switch {
	case name == "_":
		name = ""
	case slices.Contains(reserved, name):
		return p.fail(line, "an argument cannot be called %s, which stands for something else in conditions", name)
	case isPlace(name):
		return p.fail(line, "an argument cannot be called %s, which stands for a place", name)
	case slices.ContainsFunc(out.Params, func(other Param) bool { return other.Name == name }):
		return p.fail(line, "%s:%s has two arguments %s", out.Provider, out.Name, name)
	}
	a.Name = name
	if err := p.text(&a); err != nil {
		return err
	}
	if ok, err := p.accept("as"); err != nil {
		return err
	} else if ok {
		passed, as, err := p.ctype()
		if err != nil {
			return err
		}
		a.passed = passing{as: as, kind: passed.kind, size: passed.size, plain: passed.plain}
	}
	if isName(p.tok.text) {
		a.Unit = p.tok.text
		ofText, ok := units[a.Unit]
		switch {
		case !ok:
			return p.fail(p.tok.line, "%s is no unit: want ns, us, ms, s, bytes, kB, pages, blocks, id, cxx or java", a.Unit)
		case ofText && a.Kind != Text && a.Kind != Text16:
			return p.fail(p.tok.line, "%s is no text, and cannot be a name of %s", name, a.Unit)
		case !ofText && !a.isInteger() && a.Kind != Float:
			return p.fail(p.tok.line, "%s is no number, and has no unit", name)
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	out.Params = append(out.Params, a)
	return nil
}

// text reads what follows the name of a text: where its address is, and its length.
func (p *parser) text(a *Param) error {
	isText := a.Kind == Text || a.Kind == Text16
	line := p.tok.line
	if ok, err := p.accept("->"); err != nil {
		return err
	} else if ok {
		if !isText {
			return p.fail(line, "-> leads to text, and %s is a %s", a.Name, a.Type)
		}
		offset, err := p.number("an offset in bytes")
		if err != nil {
			return err
		}
		if offset < 0 || offset > maxOffset {
			return p.fail(line, "the offset %d is not between 0 and %d", offset, maxOffset)
		}
		a.Follow, a.Offset = true, offset
		a.passed = passing{kind: Pointer}
	}
	line = p.tok.line
	if ok, err := p.accept("["); err != nil {
		return err
	} else if ok {
		if !isText {
			return p.fail(line, "only text has a length, and %s is a %s", a.Name, a.Type)
		}
		length, err := p.name("the argument that is the length")
		if err != nil {
			return err
		}
		p.pending = append(p.pending, pendingLength{a.Name, length, line})
		return p.expect("]")
	}
	if a.Kind == Text16 {
		return p.fail(line, "%s is UTF-16, which needs a length: char16_t *%s[length]", a.Name, a.Name)
	}
	return nil
}

// pendingLength is a text whose length may be an argument behind it.
type pendingLength struct {
	text, length string
	line         int
}

// lengths finds the arguments that are lengths.
func (p *parser) lengths(out *Prototype) error {
	place := func(name string) int {
		return slices.IndexFunc(out.Params, func(a Param) bool { return a.Name == name })
	}
	for _, pending := range p.pending {
		text, length := place(pending.text), place(pending.length)
		if length < 0 {
			return p.fail(pending.line, "%s:%s has no argument %s, which is to be the length of %s", out.Provider, out.Name, pending.length, pending.text)
		}
		l := &out.Params[length]
		if !l.isInteger() {
			return p.fail(pending.line, "%s is no integer, and cannot be the length of %s", l.Name, pending.text)
		}
		out.Params[text].Length, l.IsLength = length, true
	}
	p.pending = p.pending[:0]
	return nil
}

// isPlace reports whether a name is one of arg0, arg1 …
func isPlace(name string) bool {
	if len(name) < 4 || name[:3] != "arg" {
		return false
	}
	for _, c := range []byte(name[3:]) {
		if !isDigit(c) {
			return false
		}
	}
	return true
}
