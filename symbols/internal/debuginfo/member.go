package debuginfo

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/symbols/internal/dwarfop"
)

// texts are the members of structures that are text: its address, and its length.
var texts = map[string][2]string{
	"string": {"str", "len"},         // Go
	"&str":   {"data_ptr", "length"}, // Rust
}

// stdTexts are the members of libstdc++'s basic_string and basic_string_view that are text likewise. The first
// is a structure, which begins with the address.
var stdTexts = [][2]string{{"_M_dataplus", "_M_string_length"}, {"_M_str", "_M_len"}}

// wide finds the names of strings whose characters have more than one byte.
var wide = regexp.MustCompile(`^(w|u16|u32)string|<(wchar_t|char16_t|char32_t)`)

// lists are the members of slices that have the address, and those with the number of elements.
var lists = map[string]string{"array": "len", "data_ptr": "length"} // Go, Rust

// members appends the members of a structure.
func (v *variables) members(name string, argument bool, t typ, where func(offset, size uint64) (Place, error), nested int, follow bool) {
	if nested > maxNested {
		return
	}
	type member struct {
		name   string
		offset uint64
		typ    typ
		bits   bitField
	}
	var all, bases []member
	t.each(v.unit.info, func(e *entry) bool {
		if e.off != t.off && e.depth == 0 || len(all)+len(bases) >= maxMembers {
			return false
		}
		base := e.tag == tagInheritance
		if e.depth != 1 || e.tag != tagMember && !base || e.get(attrExternal).num != 0 || e.get(attrDeclaration).num != 0 {
			return true // a static member is elsewhere
		}
		loc := e.get(attrMemberLocation)
		offset := loc.num
		if loc.str != nil { // DWARF 2: DW_OP_plus_uconst
			b := buffer{data: loc.str, bo: t.info.bo}
			if b.u8() != dwarfop.PlusUconst {
				return true
			}
			offset = b.uleb()
		}
		n := &node{info: t.info, unit: t.unit, entry: entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}
		if of := v.typeOf(n); of.node != nil {
			m := member{name: v.string(t.node, e.get(attrName)), offset: offset, typ: of}
			if size := e.get(attrBitSize); size.form != 0 {
				m.bits, m.offset = bitFieldOf(e, offset, size.num, of.size())
			}
			if base {
				m.name, bases = "", append(bases, m)
			} else {
				all = append(all, m)
			}
		}
		return true
	})
	all = append(all, bases...) // the class's own members hide theirs
	parts, isText := texts[t.name]
	for _, std := range stdTexts {
		has := func(name string) bool { return slices.ContainsFunc(all, func(m member) bool { return m.name == name }) }
		if has(std[0]) && has(std[1]) && !wide.MatchString(t.name) {
			parts, isText = std, true
		}
	}
	for _, m := range all {
		if isText && m.name == parts[0] {
			x := Variable{Name: name, Argument: argument, Type: t.name, Encoding: Counted, Size: m.typ.size(), Length: name + "." + parts[1]}
			x.Place, x.Err = where(m.offset, x.Size)
			v.add(x)
			continue
		}
		if m.name == "" { // a base class, or an anonymous structure or union, has its members here
			if structured(m.typ.tag) {
				v.members(name, argument, m.typ, func(offset, size uint64) (Place, error) { return where(m.offset+offset, size) }, nested+1, follow)
			}
			continue
		}
		if length := lists[m.name]; length != "" && (strings.HasPrefix(t.name, "[]") || strings.HasPrefix(t.name, "&[") || strings.HasPrefix(t.name, "&mut [")) {
			x := Variable{Name: name, Argument: argument, Type: t.name}
			if v.slice(&x, m.typ, name+"."+length); x.Err == nil && x.Stride > 0 {
				x.Place, x.Err = where(m.offset, x.Size)
				v.add(x)
				continue
			}
		}
		v.bits = m.bits
		v.value(name+"."+m.name, argument, m.typ, func(offset, size uint64) (Place, error) {
			if m.bits.err != nil {
				return Place{}, m.bits.err
			}
			return where(m.offset+offset, size)
		}, nested, follow)
		v.bits = bitField{}
	}
}
