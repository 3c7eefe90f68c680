// Package cdecl prints BTF types as C declarations.
package cdecl

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// maxDepth bounds the descent into types, which hostile BTF may nest or close to a
// loop.
const maxDepth = 16

// Declare returns the C declaration of name with type t, such as "char *path" or "int
// codes[4]", without a semicolon. If name is empty, it returns the type as in a cast.
func Declare(t btf.Type, name string) string { return declare(t, name, 0) }

// declare wraps pointers and arrays around name, as C does.
func declare(t btf.Type, name string, depth int) string {
	if depth > maxDepth {
		return join("void", name)
	}
	depth++
	switch t := t.(type) {
	case nil, *btf.Void:
		return join("void", name)
	case *btf.Pointer:
		switch t.Target.(type) {
		case *btf.Array, *btf.FuncProto:
			return declare(t.Target, "(*"+name+")", depth)
		}
		return declare(t.Target, "*"+name, depth)
	case *btf.Array:
		return declare(t.Type, fmt.Sprintf("%s[%d]", name, t.Nelems), depth)
	case *btf.FuncProto:
		return declare(t.Return, name+"()", depth)
	case *btf.Struct:
		return join("struct "+orAnonymous(t.Name), name)
	case *btf.Union:
		return join("union "+orAnonymous(t.Name), name)
	case *btf.Enum:
		return join("enum "+orAnonymous(t.Name), name)
	case *btf.Fwd:
		return join(t.Kind.String()+" "+t.Name, name)
	case *btf.Const:
		return qualified("const", t.Type, name, depth)
	case *btf.Volatile:
		return qualified("volatile", t.Type, name, depth)
	case *btf.Restrict:
		return declare(t.Type, name, depth)
	case *btf.TypeTag:
		return declare(t.Type, name, depth)
	}
	return join(t.TypeName(), name)
}

// qualified declares a const or volatile t. The qualifier stands before a type, but
// behind the asterisk of a pointer.
func qualified(word string, t btf.Type, name string, depth int) string {
	if p, ok := t.(*btf.Pointer); ok {
		return declare(p, join(word, name), depth)
	}
	return join(word, declare(t, name, depth))
}

func join(typ, name string) string {
	if name == "" {
		return typ
	}
	return typ + " " + name
}

func orAnonymous(name string) string {
	if name == "" {
		return "{...}"
	}
	return name
}
