package debuginfo

import (
	"slices"
	"strings"
)

// byReference reports whether values of a class of C++ are passed by their address, since the
// class has a constructor that copies it or a destructor which does something (C++ ABI of Itanium,
// 3.1.1). LLVM says so; of what GCC makes it is computed.
func (v *variables) byReference(t typ, nested int) (by bool) {
	if t.node == nil || t.tag != tagStructureType && t.tag != tagClassType || nested > 8 {
		return false
	}
	switch t.get(attrConvention).num {
	case 4: // DW_CC_pass_by_reference
		return true
	case 5: // DW_CC_pass_by_value
		return false
	}
	class := v.string(t.node, t.get(attrName))
	class, _, _ = strings.Cut(class, "<")
	arguments := -1 // of the constructor that is being read, -1 for none
	t.each(v.unit.info, func(e *entry) bool {
		n := &node{info: t.info, unit: t.unit, entry: entry{off: e.off, tag: e.tag, attrs: slices.Clone(e.attrs)}}
		switch {
		case e.depth == 0:
			return e.off == t.off
		case e.depth == 1:
			name := v.string(t.node, e.get(attrName))
			arguments = -1
			switch {
			case e.tag == tagMember && strings.HasPrefix(name, "_vptr"):
				by = true
			case e.tag == tagInheritance, e.tag == tagMember && e.get(attrExternal).num == 0 && e.get(attrDeclaration).num == 0:
				by = v.byReference(v.typeOf(n), nested+1)
			case e.tag != tagSubprogram || e.get(attrArtificial).num != 0 || e.get(attrDefaulted).num == 1: // in the class
			case strings.HasPrefix(name, "~"):
				by = true
			case name == class:
				arguments = 0
			}
		case e.depth == 2 && e.tag == tagFormalParameter && arguments >= 0:
			if arguments++; arguments == 2 {
				ref := v.typeOf(n)
				if ref.node != nil && (ref.tag == tagReferenceType || ref.tag == tagRvalueReference) {
					to := v.typeOf(ref.node)
					by = to.node != nil && to.off == t.off && to.info == t.info
				}
			}
		}
		return !by
	})
	return by
}
