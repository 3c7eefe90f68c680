package debuginfo

import (
	"cmp"
	"slices"
)

// node is an entry that was read by its place.
type node struct {
	info *Info
	unit *unit
	data []byte // from the entry on
	entry
}

// attribute returns an attribute of an entry, or of the entries to which it refers.
func (v *variables) attribute(n *node, attr uint16) (*node, value) {
	for range maxReferences {
		if a := n.get(attr); a.form != 0 {
			return n, a
		}
		ref := n.get(attrAbstractOrigin)
		if ref.form == 0 {
			ref = n.get(attrSpecification)
		}
		next := v.node(n, ref)
		if next == nil {
			break
		}
		n = next
	}
	return n, value{}
}

func (v *variables) text(n *node, attr uint16) string {
	of, a := v.attribute(n, attr)
	return v.string(of, a)
}

// string returns a text of an entry, "" if texts are longer than the file is worth: many entries may
// have one long text, or parts of one.
func (v *variables) string(of *node, a value) string {
	s := of.info.string(of.unit, a)
	if v.unit.info.spend(uint64(len(s))) < 0 {
		return ""
	}
	return s
}

// node reads the entry to which an attribute of another refers, nil if there is none: for what
// stands for a type that has a unit of its own, that unit's.
func (v *variables) node(from *node, ref value) *node {
	n := v.entry(from, ref)
	if n != nil && n.get(attrSignature).form != 0 {
		n = cmp.Or(v.entry(n, n.get(attrSignature)), n)
	}
	return n
}

func (v *variables) entry(from *node, ref value) *node {
	if ref.form == 0 {
		return nil
	}
	info, u, off := from.info.refer(from.unit, ref)
	if u == nil {
		return nil
	}
	data, ok := v.datas[u]
	if !ok {
		if first := u.off + uint64(u.header); u.end > first && u.end-first <= maxUnitSize {
			data = info.info.read(make([]byte, u.end-first), first)
		}
		v.datas[u] = data
	}
	skip := off - u.off - uint64(u.header)
	if skip >= uint64(len(data)) {
		return nil
	}
	n := &node{info: info, unit: u, data: data[skip:]}
	n.each(v.unit.info, func(e *entry) bool {
		n.entry = entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}
		return false
	})
	return n
}

// each calls visit with the entry and then with its children, until the limit of work is reached.
func (n *node) each(work *Info, visit func(*entry) bool) {
	u := &Unit{info: n.info, unit: n.unit, shapes: n.info.shapesOf(n.unit)}
	u.entries(n.data, func(uint32) bool { return true }, func(e *entry) bool { return work.spend(16) >= 0 && visit(e) })
}
