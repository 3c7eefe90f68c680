package bind

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/mangled"
	"github.com/go-usdt/usdt/reader"
)

// bindCondition fits the condition to what is read at a site of p. The error may be a
// [*filter.Error].
func bindCondition(expr *filter.Expr, sc *Schema, p *reader.Probe) error {
	c, err := expr.Check(func(name string, isString bool) (filter.Value, error) {
		enum := sc.enumOf(name)
		in, err := sc.Input(p, name, isString && enum == nil) // a name stands for a number, of any size
		if err != nil {
			return filter.Value{}, err
		}
		if in.Group != 0 {
			sc.Sig.Groups = sc.groups
		}
		sc.Sig.Inputs = append(sc.Sig.Inputs, in)
		sc.compared = append(sc.compared[:len(sc.Sig.Inputs)-1:len(sc.Sig.Inputs)-1], name)
		v := filter.Value{Kind: in.FilterKind(), Size: in.Size, Index: len(sc.Sig.Inputs) - 1}
		if isString && enum != nil {
			v.Names = enum
		}
		if isString {
			v.Written = written[sc.unitOf(name)]
		}
		return v, nil
	})
	sc.Sig.Condition = c
	return err
}

// Tested returns a signature by which package tally tests another condition on records
// of a schema. The error may be a [*filter.Error].
func Tested(expr *filter.Expr, sc *Schema, p *reader.Probe) (*query.Signature, error) {
	sc = sc.WithFields()
	sig := *sc.Sig
	sig.Condition, sig.Inputs, sig.Aggregate = nil, nil, nil
	other := *sc
	other.share(&sig)
	other.onlyRecords = true
	if err := bindCondition(expr, &other, p); err != nil {
		return nil, err
	}
	return &sig, nil
}

// written returns a text that people write as programs have it, by the unit of the argument that is
// compared with it: "a.b.C" is "a/b/C" in a JVM, and "a::C" is "N1a1CE" where a C++ compiler
// mangled it.
var written = map[string]func(text string) (string, error){
	"java": func(text string) (string, error) { return strings.ReplaceAll(text, ".", "/"), nil },
	"cxx":  mangle,
}

// plainTypes are builtin types that programs throw, see "builtin-type" in the C++ ABI of Itanium.
var plainTypes = map[string]string{
	"bool": "b", "char": "c", "short": "s", "int": "i", "unsigned int": "j", "long": "l", "unsigned long": "m",
	"float": "f", "double": "d", "char const*": "PKc", "char*": "Pc", "void*": "Pv",
}

var sourceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*(::[A-Za-z_]\w*)*$`) })

// mangle mangles the name of a C++ class that is no template. Names that are mangled already stay.
func mangle(text string) (string, error) {
	if mangled.Type(text) != text {
		return text, nil
	}
	if short, ok := plainTypes[text]; ok {
		return short, nil
	}
	if sourceName().MatchString(text) {
		in, rest := "", text
		if name, ok := strings.CutPrefix(text, "std::"); ok {
			in, rest = "St", name
		}
		parts := strings.Split(rest, "::")
		name := in
		for _, part := range parts {
			name += fmt.Sprint(len(part)) + part
		}
		if len(parts) > 1 {
			name = "N" + name + "E"
		}
		if mangled.Type(name) == text {
			return name, nil
		}
	}
	return "", fmt.Errorf("%q is not mangled, and compilers mangle such names in several ways: compare with the mangled name, which --json prints, or by ~ with \"*NAME*\"", text)
}
