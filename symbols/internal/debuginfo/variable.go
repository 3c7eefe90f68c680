package debuginfo

import (
	"errors"
	"slices"
)

// Encodings of base types (DWARF 5, section 7.8), and numbers of other types.
const (
	Boolean      = 0x02
	Float        = 0x04
	Signed       = 0x05
	SignedChar   = 0x06
	Unsigned     = 0x07
	UnsignedChar = 0x08
	Pointer      = 0x100 // a number, the address
	Text         = 0x101 // a pointer to bytes up to a NUL
	Chars        = 0x103 // Count bytes of text, up to a NUL
	Array        = 0x104 // Count elements
	Counted      = 0x102 // a pointer to as many bytes as the variable NAME.len, or Length, says
)

// Variable is a variable, or a part of one.
type Variable struct {
	Name     string
	Argument bool
	Global   bool
	Type     string
	Encoding int
	Size     uint64 // bytes
	Place    Place
	Count    uint64 // of Chars and Array, whose Place is where they begin
	Element  int    // the Encoding of each element
	Stride   uint64 // bytes from one to the next
	Length   string // the variable with the length of Counted
	Behind   bool   // a pointer
	// Interface says that the value is the first word of an interface of Go, which leads to the type
	// of what is in it.
	Interface bool
	Err       error        // why there is no value
	Named     []NamedValue // what its values are called, of an enumeration or of constants of Go
	// Bits is how many bits of the Size bytes a bit field has, above BitsAbove others; 0 for other variables.
	Bits, BitsAbove uint8
}

// Limits on the variables of an address.
const (
	maxVariables = 512
	maxMembers   = 128
	maxTypes     = 32 // typedefs and the like, one after the other
	maxNested    = 4  // structures in structures
)

var (
	errNoArray  = errors.New("its elements are neither numbers nor addresses")
	errNoNumber = errors.New("its type is neither a number, a pointer nor text")
	errWork     = errors.New("reading variables at so many sites takes more work than the file is worth: name fewer lines")
)

// variables reads the variables in scope at an address.
type variables struct {
	unit   *Unit
	addr   uint64
	datas  map[*unit][]byte // units, from their first entries on
	frame  frame
	out    []Variable
	data   []byte // the unit's entries
	consts *constants

	global, behind bool // what is being read
	bits           bitField
}

// Variables returns the variables in scope at an address, the innermost first, and members of
// structures, also behind one pointer, as NAME.MEMBER. cfa returns the register and the distance
// from it that make the canonical frame address.
func (d *Info) Variables(addr uint64, cfa func() (reg uint8, off int64, ok bool)) ([]Variable, error) {
	number, ok := d.Unit(addr)
	if !ok {
		return nil, nil
	}
	size := d.units[number].end - d.units[number].off
	if d.spend(size) < 0 {
		return nil, errWork
	}
	u, data, _, _, err := d.openUnit(number)
	if u == nil {
		return nil, err
	}
	v := &variables{unit: u, addr: addr, data: data, datas: map[*unit][]byte{u.unit: data}}
	v.frame.cfa = func() (term, error) {
		reg, off, ok := cfa()
		if !ok {
			return term{}, errFrame
		}
		return term{hasReg: true, reg: reg, off: off}, nil
	}
	v.read(data)
	if d.spend(0) < 0 {
		err = errWork
	}
	return v.out, err
}

// spend counts bytes of entries that are read for variables, and returns how many more may be read.
func (d *Info) spend(size uint64) int64 {
	return int64(8*d.info.size()+32<<20) - d.spent.Add(int64(size))
}

// read goes through the unit's entries.
func (v *variables) read(data []byte) {
	u := v.unit
	type found struct {
		node
		depth int
	}
	var all []found
	var base value
	within := []bool{} // by depth: whether the open entry has the address
	limit, globals := maxRanges, 0
	u.entries(data, func(tag uint32) bool {
		switch tag {
		case tagSubprogram, tagInlinedSubroutine, tagLexicalBlock, tagVariable, tagFormalParameter:
			return true
		}
		return false
	}, func(e *entry) bool {
		in := e.depth == 0 || within[e.depth-1] // variables of the whole unit are in scope
		switch e.tag {
		case tagVariable, tagFormalParameter:
			if e.depth == 1 {
				if globals++; globals > maxVariables/2 {
					break
				}
			}
			if in && e.get(attrDeclaration).num == 0 {
				all = append(all, found{node{u.info, u.unit, nil, entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}, e.depth})
			}
		case tagSubprogram, tagInlinedSubroutine, tagLexicalBlock:
			code := u.info.code(u.unit, e.get(attrLowPC), e.get(attrHighPC), e.get(attrRanges), &limit)
			here := slices.ContainsFunc(code, func(r extent) bool { return r.low <= v.addr && v.addr < r.high })
			if e.tag == tagLexicalBlock && len(code) == 0 {
				here = in
			}
			if here && e.tag == tagSubprogram {
				base = e.get(attrFrameBase)
			}
			in = here
		}
		if e.depth == 0 || e.tag == tagSubprogram || e.tag == tagInlinedSubroutine || e.tag == tagLexicalBlock {
			within = append(within[:e.depth], in)
		} else {
			within = append(within[:e.depth], false)
		}
		return len(all) < maxVariables
	})
	v.frame.base = func() (term, error) {
		code, err := u.info.expression(u.unit, base, v.addr)
		if err != nil {
			return term{}, err
		}
		outer := frame{cfa: v.frame.cfa, base: func() (term, error) { return term{}, errComplex }}
		pieces := u.info.locate(u.unit, code, &outer)
		switch p := pieces[0]; {
		case len(pieces) != 1 || p.err != nil:
			return term{}, errComplex
		case p.place.Kind == InRegister: // the frame base is what the register has
			return term{hasReg: true, reg: p.place.Reg}, nil
		case p.place.Kind == InMemory && !p.place.Follow:
			return term{hasReg: true, reg: p.place.Reg, off: p.place.Off}, nil
		}
		return term{}, errComplex
	}
	slices.SortStableFunc(all, func(a, b found) int { return b.depth - a.depth })
	seen := map[string]bool{}
	for i := range all {
		n := &all[i].node
		name := v.text(n, attrName)
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		v.global = all[i].depth == 1
		v.variable(name, n)
	}
}

// variable appends a variable and its parts.
func (v *variables) variable(name string, n *node) {
	argument := n.tag == tagFormalParameter
	t := v.typeOf(n)
	var pieces []piece
	if c := n.get(attrConstValue); c.form != 0 && c.str == nil {
		pieces = []piece{{place: Place{Kind: Constant, Off: int64(c.num)}}}
	} else if code, err := n.info.expression(n.unit, n.get(attrLocation), v.addr); err != nil {
		pieces = []piece{{err: err}}
	} else if len(code) == 0 {
		pieces = []piece{{err: errOptimisedOut}}
	} else {
		pieces = n.info.locate(n.unit, code, &v.frame)
	}
	if t.node == nil {
		v.add(Variable{Name: name, Argument: argument, Err: errNoNumber})
		return
	}
	pieces = v.realign(pieces, t)
	v.value(name, argument, t, func(offset, size uint64) (Place, error) { return at(pieces, offset, size) }, 0, true)
}

func (v *variables) add(x Variable) {
	x.Global, x.Behind = v.global, v.behind
	if v.bits.size > 0 {
		x.Bits, x.BitsAbove = v.bits.size, v.bits.above
	}
	if len(v.out) < maxVariables {
		v.out = append(v.out, x)
	}
}

// value appends a value of a type, and its parts. where says where some of its bytes are.
func (v *variables) value(name string, argument bool, t typ, where func(offset, size uint64) (Place, error), nested int, follow bool) {
	x := Variable{Name: name, Argument: argument, Type: t.name, Size: t.size()}
	switch t.tag {
	case tagBaseType:
		x.Encoding = int(t.get(attrEncoding).num)
		switch x.Encoding {
		case Boolean, Float, Signed, SignedChar, Unsigned, UnsignedChar:
		case 0x10: // DW_ATE_UTF, as of Rust's char
			x.Encoding = Unsigned
		default:
			x.Err = errNoNumber
		}
		if x.Encoding == Signed || x.Encoding == Unsigned {
			x.Named = v.named(t)
		}
	case tagEnumerationType:
		x.Encoding, x.Named = Signed, v.named(t)
		if under := v.typeOf(t.node); under.node != nil && under.get(attrEncoding).num == Unsigned {
			x.Encoding = Unsigned
		}
	case tagPointerType, tagReferenceType, tagRvalueReference:
		x.Encoding = Pointer
		to := v.typeOf(t.node)
		if x.Type == "" {
			x.Type = v.pointerName(to)
		}
		x.Place, x.Err = where(0, x.Size)
		if reference := t.tag != tagPointerType; reference && to.node != nil && x.Err == nil && follow && number(to.tag) {
			pointer := x.Place
			v.value(name, argument, to, func(offset, _ uint64) (Place, error) { return pointer.through(int64(offset)) }, nested, false)
			return
		}
		if to.node != nil && to.tag == tagBaseType && to.size() == 1 && (to.get(attrEncoding).num == SignedChar || to.get(attrEncoding).num == UnsignedChar) {
			x.Encoding = Text
		}
		if _, text := texts[to.name]; !text || !follow { // what points to a text has the text
			v.add(x)
		}
		if follow && to.node != nil && structured(to.tag) {
			pointer, err := x.Place, x.Err
			v.behind = true
			v.members(name, argument, to, func(offset, _ uint64) (Place, error) {
				if err != nil {
					return Place{}, err
				}
				return pointer.through(int64(offset))
			}, nested+1, false)
			v.behind = false
		}
		return
	case tagStructureType, tagClassType, tagUnionType:
		if !v.inInterface(name, argument, t, where) {
			v.members(name, argument, t, where, nested+1, follow)
		}
		return
	case tagArrayType:
		v.array(&x, t)
	default:
		x.Err = errNoNumber
	}
	if x.Err == nil {
		x.Place, x.Err = where(0, x.Size)
		if x.Count > 0 && x.Err == nil && !x.Place.Follow && x.Place.Kind != InMemory && x.Place.Kind != AtAddress {
			x.Err = errors.New("an array in registers is not read")
		}
	}
	v.add(x)
}

// structured reports whether values of types with such an entry have members.
func structured(tag uint32) bool {
	return tag == tagStructureType || tag == tagClassType || tag == tagUnionType
}

// number reports whether values of types with such an entry have no parts.
func number(tag uint32) bool {
	return tag == tagBaseType || tag == tagEnumerationType || tag == tagPointerType
}
