package kernfunc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-usdt/usdt/internal/spelling"
	"github.com/go-usdt/usdt/reader"
)

// Member is a member of a structure that an argument points to, or that is behind more pointers.
type Member struct {
	reader.KernelParam // its Name is the whole path
	// Steps lead to it: an address is read at the argument plus each offset except the last, and
	// takes the argument's place.
	Steps []int64
	// Bits is how many bits of the Size bytes a bit field has, above BitsAbove others; 0 for other members.
	Bits, BitsAbove int
	// Inside says that it is text in the structure itself, of up to Size bytes.
	Inside bool
}

// MemberOf returns what a path, "file.f_inode.i_ino", leads to from an argument of a function of the
// running kernel, or from a pointer that a field of a tracepoint is.
func MemberOf(p *reader.Probe, param *reader.KernelParam, path string) (*Member, error) {
	if p.Kind.HasFields() {
		return named.Named(param, path)
	}
	table, err := Load()
	if err != nil {
		return nil, err
	}
	return table.Member(p.Provider, param, path)
}

// Member returns what a path leads to from an argument of a function in a module.
func (t *Table) Member(module string, param *reader.KernelParam, path string) (*Member, error) {
	all, err := t.types.of(module)
	if err != nil {
		return nil, err
	}
	names := strings.Split(path, ".")
	m, id := &Member{}, param.TypeID
	here := func(n int) string { return strings.Join(names[:n], ".") }
	for n := 1; n < len(names); n++ {
		typ, ok := all.bare(id)
		switch {
		case ok && typ.kind == kindPtr:
			m.Steps = append(m.Steps, 0)
			typ, ok = all.bare(typ.value)
		case n == 1 && param.Pointer: // to the type that is named
			m.Steps = append(m.Steps, 0)
		}
		switch {
		case ok && typ.kind == kindFwd:
			return nil, fmt.Errorf("the kernel's types do not say what is in %s, a %s", here(n), all.declare(id))
		case !ok || typ.kind != kindStruct && typ.kind != kindUnion:
			return nil, fmt.Errorf("%s, a %s, has no members", here(n), all.declare(id))
		case len(m.Steps) == 0:
			return nil, fmt.Errorf("%s is a structure in registers, whose members are not read", here(n))
		}
		var known []string
		at, bits, next, ok := all.member(typ, names[n], &known, maxDepth)
		if !ok {
			return nil, fmt.Errorf("%s has no member %s%s", here(n), names[n], spelling.Nearly(names[n], known))
		}
		id, m.Bits = next, int(bits)
		if bits > 0 {
			word, _ := all.param("", next)
			size := uint32(8 * word.Size)
			if size == 0 || size > 64 || at%size+bits > size {
				return nil, fmt.Errorf("%s is a bit field in two words of its type, which is not read", here(n+1))
			}
			m.BitsAbove = int(at % size)
			at -= at % size
		}
		m.Steps[len(m.Steps)-1] += int64(at / 8)
	}
	leaf, ok := all.param(path, id)
	switch typ, _ := all.bare(id); {
	case typ.kind == kindPtr && all.isChar(typ.value, "char", "unsigned char"): // as in struct qstr
		leaf.Kind = Text
	case typ.kind == kindArray: // as a member it is no pointer
		leaf.Kind, leaf.Size = Other, int(typ.in.order.Uint32(typ.body[8:]))
		if all.isChar(typ.in.order.Uint32(typ.body), "char", "unsigned char") {
			leaf.Kind, m.Inside = Text, true
		}
	}
	if !ok || leaf.Kind == Other {
		return nil, errors.New(path + " is no number, address or text: name a member of it")
	}
	m.KernelParam = describe(&leaf)
	return m, nil
}

// member looks for a member of a structure or union, and in those without a name that it has. at is its first
// bit, and bits the size of a bit field, 0 for another member. known gets the names that there are.
func (t *types) member(of typ, name string, known *[]string, depth int) (at, bits, id uint32, ok bool) {
	for i := range of.parts {
		part := of.body[12*i:]
		order := of.in.order
		called, typeID := of.in.string(order.Uint32(part)), order.Uint32(part[4:])
		at, bits = order.Uint32(part[8:]), 0
		if of.flag {
			at, bits = at&0xffffff, at>>24
		}
		if called == name && called != "" {
			return at, bits, typeID, true
		}
		if called != "" {
			*known = append(*known, called)
			continue
		}
		inner, found := t.bare(typeID)
		if !found || inner.kind != kindStruct && inner.kind != kindUnion || depth == 0 {
			continue
		}
		if further, bits, id, ok := t.member(inner, name, known, depth-1); ok {
			return at + further, bits, id, true
		}
	}
	return 0, 0, 0, false
}
