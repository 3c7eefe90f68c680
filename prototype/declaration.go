package prototype

import "strconv"

func (p *parser) typedef() error {
	t, _, err := p.ctype()
	if err != nil {
		return err
	}
	line := p.tok.line
	name, err := p.name("the name of the type")
	if err != nil {
		return err
	}
	return p.declare(name, line, t)
}

func (p *parser) declare(name string, line int, t ctype) error {
	if _, ok := p.types[name]; ok || ctypes[name] != (ctype{}) || name == "enum" || name == "const" {
		return p.fail(line, "the type %s is declared twice", name)
	}
	p.types[name] = t
	return nil
}

func (p *parser) enum() error {
	line := p.tok.line
	name, err := p.name("the name of the enum")
	if err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	e := &Enum{Name: name, names: map[int64]string{}, values: map[string]int64{}}
	for value := int64(0); ; value++ {
		at := p.tok.line
		constant, err := p.name("the name of a value")
		if err != nil {
			return err
		}
		if ok, err := p.accept("="); err != nil {
			return err
		} else if ok {
			if value, err = p.number("the value of " + constant); err != nil {
				return err
			}
		}
		if _, ok := e.values[constant]; ok {
			return p.fail(at, "enum %s has %s twice", name, constant)
		}
		if other, ok := e.names[value]; ok {
			return p.fail(at, "%s and %s of enum %s are both %d", other, constant, name, value)
		}
		e.names[value], e.values[constant] = constant, value
		e.order = append(e.order, constant)
		if ok, err := p.accept(","); err != nil {
			return err
		} else if !ok {
			break
		}
	}
	if err := p.expect("}"); err != nil {
		return err
	}
	return p.declare(name, line, ctype{kind: Enumeration, size: 4, enum: e})
}

func (p *parser) number(what string) (int64, error) {
	negative, err := p.accept("-")
	if err != nil {
		return 0, err
	}
	text := p.tok.text
	if negative {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, p.wrong(what)
	}
	return n, p.advance()
}
