package provider

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
)

// lengthName returns the name of the hidden member that holds the length of
// what the member name points to.
func lengthName(name string) string { return "__" + name + "_len" }

// Types that all objects share; C's names, so that a dump of the types is C.
var (
	longLongType = &btf.Int{Name: "long long", Size: 8, Encoding: btf.Signed}

	charType  = &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	ucharType = &btf.Int{Name: "unsigned char", Size: 1}
	countType = &btf.Int{Name: "unsigned long long", Size: 8}
	indexType = &btf.Int{Name: "unsigned int", Size: 4}
	voidPtr   = &btf.Pointer{Target: &btf.Void{}}

	kindTypes = [...]btf.Type{
		kindInt8:    &btf.Int{Name: "signed char", Size: 1, Encoding: btf.Signed},
		kindInt16:   &btf.Int{Name: "short", Size: 2, Encoding: btf.Signed},
		kindInt32:   &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed},
		kindInt64:   longLongType,
		kindUint8:   ucharType,
		kindUint16:  &btf.Int{Name: "unsigned short", Size: 2},
		kindUint32:  indexType,
		kindUint64:  countType,
		kindFloat32: &btf.Float{Name: "float", Size: 4},
		kindFloat64: &btf.Float{Name: "double", Size: 8},
		kindBool:    &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool},
		kindString:  &btf.Pointer{Target: &btf.Const{Type: charType}},
		kindBytes:   &btf.Pointer{Target: &btf.Const{Type: ucharType}},

		kindDuration: &btf.Typedef{Name: notes.DurationType, Type: longLongType},
		kindTime:     &btf.Typedef{Name: notes.TimeType, Type: longLongType},
		kindAddr:     &btf.Typedef{Name: notes.AddrType, Type: &btf.Pointer{Target: &btf.Const{Type: ucharType}}},
	}
)

// slotStruct describes a block of slots; nil for none.
func slotStruct(names []string, args []argument, slots int) *btf.Struct {
	if slots == 0 {
		return nil
	}
	members := make([]btf.Member, slots)
	member := func(slot uint8, name string, t btf.Type) {
		members[slot] = btf.Member{Name: name, Type: t, Offset: btf.Bits(slot) * 64}
	}
	for i, a := range args {
		member(a.slot, names[i], kindTypes[a.kind])
		if a.kind == kindString || a.kind.counted() {
			member(a.lenSlot, lengthName(names[i]), countType)
		}
	}
	return &btf.Struct{Size: uint32(8 * slots), Members: members}
}

// marshalTypes returns the .BTF section for the signatures, and the id of each
// one's struct.
func marshalTypes(sigs []*signature, order binary.ByteOrder) ([]byte, []btf.TypeID, error) {
	if len(sigs) == 0 {
		return nil, nil, nil
	}
	var b btf.Builder
	ids := make([]btf.TypeID, len(sigs))
	for i, s := range sigs {
		named := *s.typ
		named.Name = fmt.Sprintf("usdt_args_%d", i)
		id, err := b.Add(&named)
		if err != nil {
			return nil, nil, err
		}
		ids[i] = id
	}
	raw, err := b.Marshal(nil, &btf.MarshalOptions{Order: order})
	return raw, ids, err
}
