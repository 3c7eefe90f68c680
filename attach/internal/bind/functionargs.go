package bind

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
)

// FunctionArgs are Options.Args.
type FunctionArgs struct {
	given bool     // anything at all
	all   bool     // those in registers
	names []string // of arguments at the entry
	types map[string]functionType

	result   bool   // retval is named
	variable string // the first name that only debugging information has
}

// functionType is a type that Options.Args can give an argument.
type functionType struct {
	size   int
	signed bool
}

var functionTypes = map[string]functionType{
	"int8": {1, true}, "int16": {2, true}, "int32": {4, true}, "int64": {8, true},
	"uint8": {1, false}, "uint16": {2, false}, "uint32": {4, false}, "uint64": {8, false},
}

// ParseFunctionArgs returns what Options.Args say.
func ParseFunctionArgs(all []string) (FunctionArgs, error) {
	out := FunctionArgs{given: len(all) > 0, types: map[string]functionType{}}
	none := slices.Equal(all, []string{"none"})
	if none {
		all = nil
	}
	for _, s := range all {
		name, typ, typed := strings.Cut(s, ":")
		if _, ok := shape.ArgNumber(name); !ok && name != retval {
			if name == "" {
				return out, errors.New("functions have no argument without a name, but arg0, arg1 and so on, and retval")
			}
			if typed {
				return out, fmt.Errorf("variable %s has the type that debugging information gives it", name)
			}
			if name == "none" {
				return out, fmt.Errorf("none stands for no arguments, and not beside others: %s", strings.Join(all, ","))
			}
			out.variable = cmp.Or(out.variable, name)
		}
		if t, ok := functionTypes[typ]; ok {
			if other, again := out.types[name]; again && other != t {
				return out, fmt.Errorf("argument %s has two types", name)
			}
			out.types[name] = t
		} else if typed {
			return out, fmt.Errorf("argument %s has the unknown type %q: want int8 to int64 or uint8 to uint64", name, typ)
		}
		if name == retval {
			out.result = true
		} else {
			out.names = append(out.names, name)
		}
	}
	out.all = !none && len(out.names) == 0
	return out, nil
}

// retype gives the argument called name the type that Options.Args names.
func (a *FunctionArgs) retype(arg *notes.Arg, name string) {
	t, ok := a.types[name]
	switch {
	case !ok || arg.Err != nil:
	case t.size > arg.Size:
		arg.Err = errors.New("the type has more bytes than a word of the program")
	default:
		arg.Size, arg.Signed = t.size, t.signed
	}
}
