package argument

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Wanted are Options.Args.
type Wanted struct {
	given bool     // anything at all
	All   bool     // those in registers
	Names []string // of arguments at the entry
	Types map[string]Type

	Result   bool   // Retval is named
	Variable string // the first name that only debugging information has
	Casts    []Cast // values with types of debugging information
}

// Type is a type that Options.Args can give an argument.
type Type struct {
	size   int
	signed bool
}

var numbers = map[string]Type{
	"int8": {1, true}, "int16": {2, true}, "int32": {4, true}, "int64": {8, true},
	"uint8": {1, false}, "uint16": {2, false}, "uint32": {4, false}, "uint64": {8, false},
}

// Parse returns what Options.Args say.
func Parse(all []string) (Wanted, error) {
	out := Wanted{given: len(all) > 0, Types: map[string]Type{}}
	none := slices.Equal(all, []string{"none"})
	if none {
		all = nil
	}
	for _, s := range all {
		name, typ, typed := strings.Cut(s, ":")
		if typ = strings.TrimSpace(typ); typed && name != "" && numbers[typ] == (Type{}) && typ != "" {
			if err := out.addCast(name, typ); err != nil {
				return out, fmt.Errorf("%q: %w", s, err)
			}
			typed = false
		}
		if _, ok := shape.ArgNumber(name); !ok && name != Retval {
			if name == "" {
				return out, errors.New("functions have no argument without a name, but arg0, arg1 and so on, and retval")
			}
			if typed {
				return out, fmt.Errorf("variable %s has the type that debugging information gives it", name)
			}
			if name == "none" {
				return out, fmt.Errorf("none stands for no arguments, and not beside others: %s", strings.Join(all, ","))
			}
		}
		if t, ok := numbers[typ]; ok {
			if other, again := out.Types[name]; again && other != t {
				return out, fmt.Errorf("argument %s has two types", name)
			}
			out.Types[name] = t
		} else if typed {
			return out, fmt.Errorf("argument %s has the unknown type %q: want int8 to int64 or uint8 to uint64", name, typ)
		}
		if name == Retval {
			out.Result = true
		} else {
			out.Names = append(out.Names, name)
		}
	}
	out.All = !none && len(out.Names) == 0
	if i := slices.IndexFunc(out.Names, func(name string) bool { return !isWord(name) && !out.OfCast(name) }); i >= 0 {
		out.Variable = out.Names[i]
	}
	return out, nil
}

// Retype gives the argument called name the type that Options.Args names.
func (a *Wanted) Retype(arg *notes.Arg, name string) {
	t, ok := a.Types[name]
	switch {
	case !ok || arg.Err != nil:
	case t.size > arg.Size:
		arg.Err = errors.New("the type has more bytes than a word of the program")
	default:
		arg.Size, arg.Signed = t.size, t.signed
	}
}

// Fits returns an error if Options.Args names arguments of functions and the
// selectors name nothing that has them.
func (a *Wanted) Fits(selectors []selector.Selector) error {
	any := func(is func(reader.ProbeKind) bool) bool {
		return slices.ContainsFunc(selectors, func(s selector.Selector) bool { return is(s.Kind) })
	}
	functions := any(reader.ProbeKind.InFile)
	if len(a.Casts) > 0 && any(func(k reader.ProbeKind) bool { return k == reader.USDT }) {
		for _, name := range a.Names {
			if !isWord(name) && !a.OfCast(name) && !a.IsCast(name) && !functions {
				return fmt.Errorf("it names %s, which is an argument of a function, and no selector names functions", name)
			}
		}
		return nil
	}
	_, result := a.Types[Retval]
	switch entry, ret := any(func(k reader.ProbeKind) bool { return k != reader.USDT && k.HasArguments() }), any(reader.ProbeKind.IsReturn); {
	case len(a.Casts) > 0 && !functions && !any(reader.ProbeKind.HasFields):
		return fmt.Errorf("%s: types are given to arguments of probes and of functions of programs: those of the kernel have theirs", a.Casts[0].Text)
	case a.given && !entry && !ret:
		return errors.New("it names arguments of functions, and no selector names functions")
	case (a.Result || result) && !ret:
		return errors.New("a function has no retval at its entry: trace uretprobe:PATH:FUNC")
	case (slices.ContainsFunc(a.Names, isWord) || a.given && !a.All && !a.Result && len(a.Names) == 0) && !entry:
		return errors.New("a function has only retval when it returns: trace uprobe:PATH:FUNC for its arguments")
	}
	return nil
}

// Retval is the name of a function's result.
const Retval = "retval"

// isWord reports whether s is argN.
func isWord(s string) bool {
	_, ok := shape.ArgNumber(s)
	return ok
}
