package debuginfo

// entry is an entry of a unit.
type entry struct {
	off   uint64 // in the section
	depth int    // 0 for the unit's first
	tag   uint32
	attrs []attribute // until the next entry is read
}

type attribute struct {
	attr uint16
	value
}

// get returns the value of an attribute, one of form 0 if the entry lacks it.
func (e *entry) get(attr uint16) value {
	for i := range e.attrs {
		if e.attrs[i].attr == attr {
			return e.attrs[i].value
		}
	}
	return value{}
}

// entries calls visit with the unit's entries, in order, until it returns false. data begins with
// the first. Only entries with tags that are wanted have attributes.
func (u *Unit) entries(data []byte, wanted func(tag uint32) bool, visit func(*entry) bool) {
	enc, base := u.unit.enc, u.unit.end-uint64(len(data))
	all := len(data)
	b := buffer{data: data, bo: u.info.bo}
	var e entry
	for depth := 0; len(b.data) > 0 && !b.failed; {
		e.off, e.depth, e.attrs = base+uint64(all-len(b.data)), depth, e.attrs[:0]
		n := b.uleb()
		if n == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		shape := u.shapes.of(n)
		if shape == nil {
			return
		}
		e.tag = shape.tag
		if !wanted(e.tag) && shape.fixed >= 0 {
			b.take(uint64(shape.fixed))
		} else {
			for i := range shape.specs {
				e.attrs = append(e.attrs, attribute{shape.specs[i].attr, enc.read(&b, &shape.specs[i])})
			}
		}
		if b.failed || !visit(&e) {
			return
		}
		if shape.children {
			depth++
		} else if depth == 0 {
			return
		}
	}
}
