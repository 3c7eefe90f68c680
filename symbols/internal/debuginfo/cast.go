package debuginfo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds of types that a [Cast] may ask for, by C's words.
var castTags = map[string][]uint32{
	"struct": {tagStructureType, tagClassType}, "class": {tagStructureType, tagClassType},
	"union": {tagUnionType}, "enum": {tagEnumerationType},
	"": {tagStructureType, tagClassType, tagUnionType, tagEnumerationType, tagTypedef, tagBaseType},
}

// Cast is a type that a value is said to have.
type Cast struct {
	Kind string // "struct", "class", "union", "enum", or "" for any
	// Type is the type's name, without the namespaces, packages or modules that are in front, or
	// with some of them.
	Type    string
	Name    string // what the value is called
	Pointer bool   // the value is the type's address
}

// maxTypeNames is the number of names that are kept to find the nearest one.
const maxTypeNames = 1 << 15

var errNames = errors.New("the names of types are longer than any compiler writes")

// ErrNoType is the error for a type that debugging information does not have.
var ErrNoType = errors.New("debugging information has no such type")

// foundType is a definition of a type that was asked for.
type foundType struct {
	node
	name string // with namespaces
	of   *Unit
}

// Cast returns the parts of a value by its type: the value itself, in register 0, and members of a
// structure to whose address the value is a pointer, in memory at that register. The unit with the
// code at addr comes first. If there is no such type, names has all types of that kind.
func (d *Info) Cast(addr uint64, cast Cast) (all []Variable, names []string, err error) {
	first := -1
	if n, ok := d.Unit(addr); ok {
		first = n
	}
	t := &types{text: int64(min(64*d.info.size()+1<<20, 1<<40)), cast: cast, last: lastPart(cast.Type), seen: map[string]bool{}}
	if first >= 0 {
		if err := t.unit(d, first); err != nil {
			return nil, nil, err
		}
	}
	if t.exact == nil {
		if err := t.all(d, first); err != nil {
			return nil, nil, err
		}
	}
	found := t.exact
	if found == nil {
		found = t.inner
	}
	if found == nil {
		return nil, t.names, ErrNoType
	}
	if t.others != "" && t.exact == nil || t.differ {
		return nil, nil, fmt.Errorf("there are several such types, as %s is: write more of the name", t.others)
	}
	return t.parts(found)
}

// types looks for a type in units.
type types struct {
	cast  Cast
	last  string // the last part of its name
	exact *foundType
	inner *foundType // in a namespace that was not named
	// others is the name of another type that could be meant, differ says that it has the same name.
	others string
	differ bool
	names  []string
	text   int64 // bytes of names that may be read
	seen   map[string]bool
	pack   *Info            // of split units, if its units with types were looked through
	datas  map[*unit][]byte // see variables
}

// all looks for the type in all units except one.
func (t *types) all(d *Info, except int) error {
	for n := range d.units {
		if n == except {
			continue
		}
		if err := t.unit(d, n); err != nil {
			return err
		}
	}
	if d.types != nil {
		return t.all(d.types, -1)
	}
	return nil
}

// unit looks for the type in a unit.
func (t *types) unit(d *Info, number int) error {
	if d.spend(d.units[number].end-d.units[number].off) < 0 {
		return errWork
	}
	u, data, _, _, _ := d.openUnit(number)
	if u == nil {
		return nil
	}
	tags := castTags[t.cast.Kind]
	begin := u.unit.end - uint64(len(data))
	var scopes []string             // by depth: the name of the namespace that is open, with "::" behind it
	declared := map[uint64]string{} // what is in front of the names of types that were declared, by place
	u.entries(data, func(tag uint32) bool {
		switch tag {
		case tagNamespace, tagStructureType, tagClassType, tagUnionType, tagEnumerationType, tagTypedef, tagBaseType:
			return true
		}
		return false
	}, func(e *entry) bool {
		outer := ""
		if e.depth > 0 {
			outer = scopes[e.depth-1]
		}
		scopes = append(scopes[:e.depth], outer)
		if e.attrs == nil || e.depth == 0 {
			return true
		}
		name := u.info.string(u.unit, e.get(attrName))
		if sig := e.get(attrSignature); name == "" && sig.form != 0 {
			if types, of, off := u.info.refer(u.unit, sig); of != nil {
				name = types.nameAt(of, types.shapesOf(of), off).text
			}
		}
		if t.text -= int64(len(name) + len(outer)); t.text < 0 {
			return false
		}
		if spec := e.get(attrSpecification); spec.form != 0 { // the declaration is in the namespace, the definition beside it
			_, _, off := u.info.refer(u.unit, spec)
			outer = declared[off]
		} else if e.get(attrDeclaration).num != 0 {
			declared[e.off] = outer
		}
		if e.tag == tagNamespace || e.tag == tagStructureType || e.tag == tagClassType {
			scopes[e.depth] = outer + name + "::"
		}
		if name == "" || len(outer) > 1024 || !slices.Contains(tags, e.tag) || e.get(attrDeclaration).num != 0 || e.get(attrSignature).form != 0 {
			return true
		}
		if name != t.last && !strings.HasSuffix(name, t.last) {
			if len(t.names) < maxTypeNames && !t.seen[name] {
				t.seen[name] = true
				t.names = append(t.names, name)
			}
			return true
		}
		t.found(&foundType{node{u.info, u.unit, data[e.off-begin:], entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}, outer + name, u})
		return true
	})
	if t.text < 0 {
		return errNames
	}
	if u.info == d || u.info == t.pack {
		return nil
	}
	if u.info.typeIndex != nil {
		t.pack = u.info
	}
	u.info.withTypes()
	return t.all(u.info, -1)
}

// found notes a type whose name ends like the wanted one.
func (t *types) found(f *foundType) {
	exact := f.name == t.cast.Type
	rest, inner := strings.CutSuffix(f.name, t.cast.Type)
	if !exact && (!inner || !strings.HasSuffix(rest, "::") && !strings.HasSuffix(rest, ".") && !strings.HasSuffix(rest, "/")) {
		return
	}
	best := &t.inner
	switch {
	case exact:
		best = &t.exact
	case t.exact != nil:
		return
	}
	switch old := *best; {
	case old == nil && exact:
		t.exact, t.others, t.differ = f, "", false
	case old == nil:
		*best = f
	case old.name != f.name:
		t.others = f.name
	case old.get(attrByteSize).num != f.get(attrByteSize).num && f.get(attrByteSize).form != 0 && old.get(attrByteSize).form != 0:
		t.others, t.differ = f.name+" of another size", true
	}
}

// parts returns the value that is cast, and its parts.
func (t *types) parts(f *foundType) (all []Variable, names []string, err error) {
	u := f.of
	if t.datas == nil {
		t.datas = map[*unit][]byte{}
	}
	v := &variables{unit: u, datas: t.datas}
	bare := typ{node: &f.node, name: f.name}
	if f.tag == tagTypedef {
		bare = v.typeOf(&f.node)
		bare.name = f.name
	}
	if bare.node == nil {
		return nil, nil, errNoNumber
	}
	structure := structured(bare.tag)
	base := Place{Kind: InRegister}
	switch {
	case !t.cast.Pointer && structure:
		return nil, nil, fmt.Errorf("%s is a structure, whose address the argument may be: %s*", f.name, t.cast.Type)
	case !t.cast.Pointer:
		v.value(t.cast.Name, true, bare, func(offset, _ uint64) (Place, error) { return base.member(offset) }, 0, false)
	default:
		x := Variable{Name: t.cast.Name, Argument: true, Type: f.name + " *", Encoding: Pointer, Size: uint64(u.unit.enc.addr), Place: base}
		if bare.tag == tagBaseType && bare.size() == 1 && (bare.get(attrEncoding).num == SignedChar || bare.get(attrEncoding).num == UnsignedChar) {
			x.Encoding = Text
		}
		v.add(x)
		where := func(offset, _ uint64) (Place, error) { return base.through(int64(offset)) }
		switch {
		case structure:
			v.members(t.cast.Name, true, bare, where, 1, true)
		case x.Encoding != Text:
			v.value(t.cast.Name+".value", true, bare, where, 1, false)
		}
	}
	return v.out, nil, nil
}

// lastPart returns a type's name without the namespaces in front.
func lastPart(name string) string {
	head, _, _ := strings.Cut(name, "<")
	if i := strings.LastIndex(head, "::"); i >= 0 {
		return name[i+2:]
	}
	return name
}
