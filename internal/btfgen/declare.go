package btfgen

import "strconv"

// Declare returns the C declaration of name with type t, such as "char *path" or "int
// codes[4]", without a semicolon.
func Declare(t Type, name string) string {
	switch t := t.(type) {
	case Int:
		return t.Name + " " + name
	case Float:
		return t.Name + " " + name
	case Typedef:
		return t.Name + " " + name
	case *Struct:
		if t.Name == "" {
			return "struct {...} " + name
		}
		return "struct " + t.Name + " " + name
	case Const:
		if p, ok := t.Of.(Pointer); ok { // behind its asterisk
			return Declare(p, "const "+name)
		}
		return "const " + Declare(t.Of, name)
	case Pointer:
		if _, ok := t.To.(Array); ok {
			return Declare(t.To, "(*"+name+")")
		}
		return Declare(t.To, "*"+name)
	case Array:
		return Declare(t.Elem, name+"["+strconv.FormatUint(uint64(t.Len), 10)+"]")
	}
	return "void " + name
}
