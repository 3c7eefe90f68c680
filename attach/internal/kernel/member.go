package kernel

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// MemberOffset returns the offset of a member in a struct of the kernel, in
// bytes.
func MemberOffset(types *btf.Spec, structure, member string) (uint32, error) {
	var st *btf.Struct
	if err := types.TypeByName(structure, &st); err != nil {
		return 0, err
	}
	for _, m := range st.Members {
		if m.Name == member {
			return m.Offset.Bytes(), nil
		}
	}
	return 0, fmt.Errorf("the kernel's struct %s has no member %s", structure, member)
}
