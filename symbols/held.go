package symbols

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/held"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// errorType is the interface whose values are read.
const errorType = "error"

// errno is the type of errors that the kernel returns.
const errno = "syscall.Errno"

// preferred are what members are called that hold an error's text, in lower case. Otherwise the first
// string is taken for it.
var preferred = []string{"msg", "message", "text", "s", "err", "error", "desc", "description", "reason", "detail"}

// insideErrors returns the variables that are in what an error holds, if its first word is that of a
// variable. They are behind the variable's words: NAME.text, NAME.more, NAME.errno, and the same of
// NAME.cause, the error that it wraps.
func (c *Code) insideErrors(v *Variable) (out []Variable) {
	types := c.errorTypes()
	add := func(of, name string, kind VariableKind, part int, plus int64, typ string) *Variable {
		out = append(out, Variable{
			Name: of + name, Type: typ, Argument: v.Argument, Global: v.Global, Behind: v.Behind, Kind: kind, Size: 8, Register: -1, Memory: true,
			Held: &held.Place{Interface: of, Data: of + ".data", Types: types, Part: part, Plus: plus},
		})
		return &out[len(out)-1]
	}
	text := func(of, name string, part int) {
		if types.Any(part) {
			add(of, name, Text, part, 0, "string").Length = of + name + ".len"
			add(of, name+".len", Signed, part, 8, "int")
		}
	}
	of := v.Name
	for {
		if types.Any(held.Number) {
			add(of, ".errno", Unsigned, held.Number, 0, errno).Named = errnoNames()
		}
		text(of, ".text", held.Text)
		text(of, ".more", held.More)
		if !types.Any(held.Cause) || strings.Count(of[len(v.Name):], ".") == 2 {
			return out
		}
		cause := add(of, ".cause", Unsigned, held.Cause, 0, errorType)
		cause.Named, cause.Interface, cause.Relative = v.Named, true, v.Relative
		add(of, ".cause.data", Unsigned, held.Cause, 8, "unsafe.Pointer")
		of += ".cause"
	}
}

// errorTypes returns where the errors that the program makes have texts, causes and numbers.
func (c *Code) errorTypes() held.Types {
	in := &c.interfaces
	if in.errors != nil {
		return *in.errors
	}
	words := map[string][]uint64{} // by the name of the type behind the address
	for _, t := range in.symbols.Tables {
		if typ, ok := strings.CutSuffix(t.Name, ","+errorType); ok {
			typ = strings.TrimPrefix(typ, "*")
			words[typ] = append(words[typ], t.Address)
		}
	}
	var all []held.Type
	if len(words) > 0 {
		c.info().EachType(func(name string) bool { return words[name] != nil }, func(name string, parts []debuginfo.Variable) {
			at := partsOfError(name, parts)
			if at == [held.Parts]uint16{} {
				return
			}
			for _, word := range words[name] {
				all = append(all, held.Type{Word: word, At: at})
			}
			delete(words, name)
		})
	}
	types := held.New(all)
	in.errors = &types
	return types
}

// partsOfError returns where a type of errors has its parts.
func partsOfError(name string, parts []debuginfo.Variable) (at [held.Parts]uint16) {
	place := func(v *debuginfo.Variable) uint16 { return uint16(v.Place.Off + 1) }
	var texts []*debuginfo.Variable
	for i := range parts {
		v := &parts[i]
		if v.Err != nil || v.Place.Kind != debuginfo.InMemory || v.Place.Follow || v.Place.Off < 0 || v.Place.Off > held.MaxAt {
			continue
		}
		switch {
		case v.Name == debuginfo.Value+".str" && len(parts) == 3: // the type itself is a string
			texts = append(texts, v)
		case v.Encoding == debuginfo.Counted && v.Type == "string":
			texts = append(texts, v)
		case v.Interface && v.Type == errorType && at[held.Cause] == 0:
			at[held.Cause] = place(v)
		case name == errno && v.Size == 8 && v.Encoding == debuginfo.Unsigned:
			at[held.Number] = place(v)
		}
	}
	slices.SortStableFunc(texts, func(a, b *debuginfo.Variable) int { return rank(a) - rank(b) })
	for i, v := range texts[:min(len(texts), 2)] {
		at[held.Text+i] = place(v)
	}
	return at
}

// rank returns how soon a string of an error is taken for its text.
func rank(v *debuginfo.Variable) int {
	name := strings.ToLower(v.Name[strings.LastIndexByte(v.Name, '.')+1:])
	if i := slices.Index(preferred, name); i >= 0 {
		return i
	}
	return len(preferred)
}
