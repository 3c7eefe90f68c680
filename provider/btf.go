package provider

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// typeTable builds the object's .BTF section: a struct per signature.
type typeTable struct {
	builder btf.Builder
	kinds   [len(kindInfos)]btf.Type
}

func newTypeTable() *typeTable {
	integer := func(name string, size uint32, enc btf.IntEncoding) *btf.Int {
		return &btf.Int{Name: name, Size: size, Encoding: enc}
	}
	uchar := integer("unsigned char", 1, btf.Unsigned)
	t := new(typeTable)
	t.kinds = [...]btf.Type{
		kindInt8:    integer("signed char", 1, btf.Signed),
		kindInt16:   integer("short", 2, btf.Signed),
		kindInt32:   integer("int", 4, btf.Signed),
		kindInt64:   integer("long long", 8, btf.Signed),
		kindUint8:   uchar,
		kindUint16:  integer("unsigned short", 2, btf.Unsigned),
		kindUint32:  integer("unsigned int", 4, btf.Unsigned),
		kindUint64:  integer("unsigned long long", 8, btf.Unsigned),
		kindFloat32: &btf.Float{Name: "float", Size: 4},
		kindFloat64: &btf.Float{Name: "double", Size: 8},
		kindBool:    integer("_Bool", 1, btf.Bool),
		kindString:  &btf.Pointer{Target: &btf.Const{Type: integer("char", 1, btf.Char)}},
		kindBytes:   &btf.Pointer{Target: &btf.Const{Type: uchar}},
	}
	return t
}

// add adds the struct of s, the i-th signature, and returns its id.
func (t *typeTable) add(s *signature, i int) (btf.TypeID, error) {
	members := make([]btf.Member, s.slots)
	member := func(slot uint8, name string, k kind) {
		members[slot] = btf.Member{Name: name, Type: t.kinds[k], Offset: btf.Bits(slot) * 64}
	}
	for i, a := range s.args {
		member(a.slot, s.names[i], a.kind)
		if a.kind == kindString || a.kind == kindBytes {
			member(a.lenSlot, "__"+s.names[i]+"_len", kindUint64)
		}
	}
	return t.builder.Add(&btf.Struct{Name: fmt.Sprintf("usdt_args_%d", i), Size: uint32(8 * s.slots), Members: members})
}

// bytes returns the section's contents, empty without types.
func (t *typeTable) bytes(order binary.ByteOrder) ([]byte, error) {
	if t.builder.Empty() {
		return nil, nil
	}
	return t.builder.Marshal(nil, &btf.MarshalOptions{Order: order})
}
