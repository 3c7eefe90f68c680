package debuginfo

import "github.com/go-usdt/usdt/internal/mangled"

// maxReferences is the number of entries that are gone through for a name: that of
// code refers to the abstract function, and that to its declaration.
const maxReferences = 8

// name is the name of a function.
type name struct {
	text   string // demangled
	symbol string // the function's symbol, if debugging information has it
}

// name returns the function's name. Functions that are inlined in several places refer
// to one entry, whose name is found once.
func (u *Unit) name(fn *function) *name {
	if n := fn.name.Load(); n != nil {
		return n
	}
	off := u.unit.off + uint64(fn.entry)
	e, ok := u.info.entryAt(u.unit, u.shapes, off)
	var n *name
	if ok && e.linkage.form == 0 && e.name.form == 0 && e.next == u.info && e.nextUnit == u.unit {
		u.mu.Lock()
		n = u.names[e.nextOff]
		u.mu.Unlock()
		if n == nil {
			if n = u.info.nameAt(u.unit, u.shapes, e.nextOff); !u.keeps(n) {
				return n
			}
			u.mu.Lock()
			u.names[e.nextOff] = n
			u.mu.Unlock()
		}
	} else if n = u.info.nameAt(u.unit, u.shapes, off); !u.keeps(n) {
		return n
	}
	fn.name.Store(n)
	return n
}

// keeps reports whether a name is kept: all may have as many bytes as Size says.
func (u *Unit) keeps(n *name) bool {
	size := int64(len(n.text) + len(n.symbol))
	if u.kept.Add(size) <= int64(sizeFunction*len(u.functions)) {
		return true
	}
	u.kept.Add(-size)
	return false
}

// nameAt returns the name of the function that the entry at off, of unit u, is about.
func (d *Info) nameAt(u *unit, shapes *abbrevs, off uint64) *name {
	n := &name{}
	for range maxReferences {
		e, ok := d.entryAt(u, shapes, off)
		if !ok {
			break
		}
		if e.linkage.form != 0 {
			return d.demangled(u, e.linkage)
		}
		if n.text == "" && e.name.form != 0 {
			n.text = mangled.Source(d.string(u, e.name))
		}
		if d, u, off = e.next, e.nextUnit, e.nextOff; u == nil {
			break
		}
		shapes = d.shapesOf(u)
	}
	return n
}

// maxDemangled is the number of symbols whose names are kept for all units: many units have the
// same templates.
const maxDemangled = 1 << 13

// demangled returns the name that a symbol stands for.
func (d *Info) demangled(u *unit, symbol value) *name {
	read := func() *name {
		s := d.string(u, symbol)
		return &name{mangled.Source(s), s}
	}
	if symbol.form != formStrp {
		return read()
	}
	d.mu.Lock()
	n := d.names[symbol.num]
	d.mu.Unlock()
	if n != nil {
		return n
	}
	n = read()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.names) >= maxDemangled {
		clear(d.names)
	}
	if len(n.text)+len(n.symbol) <= maxKept {
		d.names[symbol.num] = n
	}
	return n
}

// maxKept is the length in bytes of the longest name and symbol that are kept for all units.
const maxKept = 1 << 10

// nameEntry is what an entry says about a name.
type nameEntry struct {
	linkage, name value
	next          *Info // where the entry to which it refers is
	nextUnit      *unit // nil if it refers to none
	nextOff       uint64
}

// entryAt decodes the entry at off of unit u.
func (d *Info) entryAt(u *unit, shapes *abbrevs, off uint64) (e nameEntry, ok bool) {
	for size := uint64(128); size <= maxString; size *= 16 {
		e = nameEntry{}
		b := buffer{data: d.info.read(make([]byte, min(size, u.end-off)), off), bo: d.bo}
		shape := shapes.of(b.uleb())
		if shape == nil {
			return e, false
		}
		for i := range shape.specs {
			v := u.enc.read(&b, &shape.specs[i])
			if b.failed {
				break
			}
			switch shape.specs[i].attr {
			case attrLinkageName, attrMIPSLinkage:
				e.linkage = v
			case attrName:
				e.name = v
			case attrAbstractOrigin, attrSpecification:
				e.next, e.nextUnit, e.nextOff = d.refer(u, v)
			}
		}
		if !b.failed {
			return e, true
		}
	}
	return e, false
}

// refer returns the entry to which v refers.
func (d *Info) refer(u *unit, v value) (*Info, *unit, uint64) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if off := u.off + v.num; off >= u.off && off < u.end {
			return d, u, off
		}
	case formRefAddr:
		if d.whole != nil {
			d = d.whole
		}
		return d, d.unitAt(v.num), v.num
	case formRefSig8:
		if types, u := d.typeUnit(v.num); u != nil {
			return types, u, u.off + u.typeOff
		}
	case formGNURefAlt, formRefSup4, formRefSup8:
		if d.alt != nil {
			return d.alt, d.alt.unitAt(v.num), v.num
		}
	}
	return d, nil, 0
}
