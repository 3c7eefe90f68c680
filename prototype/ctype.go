package prototype

import (
	"strconv"
	"strings"
)

// ctype is a type of C.
type ctype struct {
	kind  Kind
	size  int
	plain bool
	enum  *Enum
}

// ctypes are the types of C by their names, without qualifiers; types of a word have
// size 0, as on Linux.
var ctypes = map[string]ctype{
	"bool": {kind: Bool, size: 1}, "_Bool": {kind: Bool, size: 1},
	"char": {kind: Signed, size: 1, plain: true}, "signed char": {kind: Signed, size: 1}, "unsigned char": {size: 1},
	"short": {kind: Signed, size: 2}, "unsigned short": {size: 2},
	"int": {kind: Signed, size: 4}, "unsigned": {size: 4}, "unsigned int": {size: 4},
	"long": {kind: Signed}, "unsigned long": {},
	"long long": {kind: Signed, size: 8}, "unsigned long long": {size: 8},
	"int8_t": {kind: Signed, size: 1}, "uint8_t": {size: 1},
	"int16_t": {kind: Signed, size: 2}, "uint16_t": {size: 2},
	"int32_t": {kind: Signed, size: 4}, "uint32_t": {size: 4},
	"int64_t": {kind: Signed, size: 8}, "uint64_t": {size: 8},
	"size_t": {}, "ssize_t": {kind: Signed}, "uintptr_t": {}, "intptr_t": {kind: Signed}, "ptrdiff_t": {kind: Signed},
	"float": {kind: Float, size: 4}, "double": {kind: Float, size: 8},
	"integer": {kind: Integer},
}

// units are the words that may follow an argument, and whether they are for text.
var units = map[string]bool{
	"ns": false, "us": false, "ms": false, "s": false,
	"bytes": false, "kB": false, "pages": false, "blocks": false, ID: false,
	"cxx": true, "java": true,
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// ctype reads a type with its stars, and returns its name.
func (p *parser) ctype() (t ctype, name string, err error) {
	line := p.tok.line
	var words []string
	for isName(p.tok.text) {
		word := p.tok.text
		known := p.isType(append(words, word))
		// The argument's name follows its type.
		if word != "const" && len(words) > 0 && !known {
			break
		}
		if err := p.advance(); err != nil {
			return t, "", err
		}
		if word == "const" || len(words) == 0 && (word == "struct" || word == "enum") {
			continue
		}
		words = append(words, word)
	}
	name = strings.Join(words, " ")
	if name == "" {
		return t, "", p.wrong("a type")
	}
	stars := 0
	for p.tok.text == "*" || p.tok.text == "const" {
		if p.tok.text == "*" {
			stars++
		}
		if err := p.advance(); err != nil {
			return t, "", err
		}
	}
	t, known := p.lookup(name)
	switch {
	case stars == 1 && name == "char":
		t = ctype{kind: Text}
	case stars == 1 && name == "char16_t":
		t = ctype{kind: Text16}
	case stars > 0:
		t = ctype{kind: Pointer}
	case !known:
		return t, "", p.fail(line, "the type %s is unknown: declare it by typedef or enum, or write a pointer to it", name)
	}
	if stars > 0 {
		name += " " + strings.Repeat("*", stars)
	}
	return t, name, nil
}

// isType reports whether words are a type, or may begin one.
func (p *parser) isType(words []string) bool {
	name := strings.Join(words, " ")
	if _, ok := p.lookup(name); ok {
		return true
	}
	return name == "signed" || name == "unsigned" || name == "long"
}

func (p *parser) lookup(name string) (ctype, bool) {
	if t, ok := ctypes[name]; ok {
		return t, true
	}
	t, ok := p.types[name]
	return t, ok
}
