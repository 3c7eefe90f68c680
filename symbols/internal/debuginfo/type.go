package debuginfo

// typ is a type without typedefs and qualifiers.
type typ struct {
	*node
	name string // with them
}

// typeOf returns the type to which an entry refers; the node is nil if there is none.
func (v *variables) typeOf(n *node) (t typ) {
	for range maxTypes {
		of, ref := v.attribute(n, attrType)
		if n = v.node(of, ref); n == nil {
			return typ{}
		}
		if t.name == "" {
			t.name = v.string(n, n.get(attrName))
		}
		switch n.tag {
		case tagTypedef, tagConstType, tagVolatileType, tagRestrictType, tagAtomicType:
			continue
		}
		t.node = n
		return t
	}
	return typ{}
}

// pointerName returns what C calls a pointer to a type.
func (v *variables) pointerName(to typ) string {
	stars := "*"
	for range maxTypes {
		switch {
		case to.node == nil:
			return "void " + stars
		case to.name != "":
			return to.name + " " + stars
		case to.tag == tagPointerType:
			to, stars = v.typeOf(to.node), stars+"*"
		case to.tag == tagSubroutineType:
			return "(" + stars + ")()"
		case to.tag == tagUnionType:
			return "union " + stars
		case to.tag == tagStructureType || to.tag == tagClassType:
			return "struct " + stars
		default:
			return stars
		}
	}
	return stars
}

func (t *typ) size() uint64 {
	if v := t.get(attrByteSize); v.form != 0 {
		return v.num
	}
	return uint64(t.unit.enc.addr) // of a pointer
}
