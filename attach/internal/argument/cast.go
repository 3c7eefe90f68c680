package argument

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/symbols"
)

// Cast is an argument that has a type of debugging information by Options.Args, as
// "arg0:struct conn*" says.
type Cast struct {
	Arg, Text string
	symbols.Cast
}

var errCast = errors.New("want ARG:TYPE*, with a type as the program's source writes it, or ARG:TYPE *NAME")

// parseCast returns what the type behind an argument says. A name may follow it, as in C.
func parseCast(arg, typ string) (Cast, error) {
	c := Cast{Arg: arg, Text: arg + ":" + typ}
	rest := strings.TrimSpace(typ)
	stars := 0
	for rest != "" && (rest[0] == '*' || rest[0] == '&') { // Go and Rust
		stars++
		rest = strings.TrimSpace(rest[1:])
	}
	depth, end := 0, len(rest) // of the type
	for i, r := range rest {
		switch {
		case strings.ContainsRune("<([", r):
			depth++
		case strings.ContainsRune(">)]", r):
			depth--
		case (r == '*' || r == '&') && depth == 0:
			if stars++; end == len(rest) {
				end = i
			}
			c.Name = strings.TrimSpace(rest[i+1:])
		}
	}
	words := strings.Fields(rest[:end])
	for len(words) > 1 {
		switch words[0] {
		case "struct", "class", "union", "enum":
			c.Kind = words[0]
		case "const", "volatile", "mut":
		default:
			goto named
		}
		words = words[1:]
	}
named:
	if end == len(rest) && c.Kind != "" && len(words) == 2 || stars > 0 && end == len(rest) && len(words) == 2 {
		c.Name, words = words[1], words[:1]
	}
	if words = slices.DeleteFunc(words, func(w string) bool { return w == "const" || w == "volatile" }); len(words) == 0 {
		return c, errCast
	}
	if stars == 0 && c.Kind != "enum" {
		return c, fmt.Errorf("unknown type %q: want int8 to int64 or uint8 to uint64, enum NAME, or TYPE* for the address of a value with a type of the program's source", typ)
	}
	c.Type = strings.Join(words, " ")
	if c.Pointer = stars > 0; stars > 1 {
		return c, fmt.Errorf("%s is a pointer to a pointer, of which one is followed", typ)
	}
	if c.Name == "" {
		name, _, _ := strings.Cut(c.Type, "<")
		c.Name = name[strings.LastIndexAny(name, ":./ ")+1:]
	}
	if c.Name = strings.TrimPrefix(strings.TrimSpace(c.Name), "const "); !isIdentifier(c.Name) || isWord(c.Name) || c.Name == Retval {
		return c, errCast
	}
	return c, nil
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80 && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// addCast notes a type behind an argument.
func (a *Wanted) addCast(arg, typ string) error {
	c, err := parseCast(arg, typ)
	if err != nil {
		return err
	}
	for i := range a.Casts {
		switch old := &a.Casts[i]; {
		case *old == c:
			return nil
		case old.Name == c.Name:
			return fmt.Errorf("%s and %s are both called %s: write %s:%s *NAME", old.Text, c.Text, c.Name, arg, c.Type)
		}
	}
	a.Casts = append(a.Casts, c)
	return nil
}

// OfCast reports whether a name is that of a value that is cast, or of a part of one.
func (a *Wanted) OfCast(name string) bool {
	return slices.ContainsFunc(a.Casts, func(c Cast) bool { return c.Has(name) })
}

// IsCast reports whether a name is that of an argument that is cast.
func (a *Wanted) IsCast(name string) bool {
	return slices.ContainsFunc(a.Casts, func(c Cast) bool { return c.Arg == name })
}

// Has reports whether name is what the cast value is called, or a part of it.
func (c *Cast) Has(name string) bool {
	rest, ok := strings.CutPrefix(name, c.Name)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
