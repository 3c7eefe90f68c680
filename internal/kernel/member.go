package kernel

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// MemberOffset returns the offset of a member in a struct of the kernel, in bytes. The
// member may be one of an unnamed struct or union within.
func MemberOffset(types *btf.Spec, structure, member string) (uint32, error) {
	var st *btf.Struct
	if err := types.TypeByName(structure, &st); err != nil {
		return 0, err
	}
	if offset, ok := memberIn(st.Members, member); ok {
		return offset, nil
	}
	return 0, fmt.Errorf("the kernel's struct %s has no member %s", structure, member)
}

// memberIn returns the offset of the member of that name.
func memberIn(members []btf.Member, name string) (offset uint32, ok bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Offset.Bytes(), true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if offset, ok := memberIn(inner, name); ok {
			return m.Offset.Bytes() + offset, true
		}
	}
	return 0, false
}
