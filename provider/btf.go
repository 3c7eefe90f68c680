package provider

import (
	"strconv"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/notes"
)

// lengthName returns the name of the hidden member that holds the length of
// what the member name points to.
func lengthName(name string) string { return "__" + name + "_len" }

// Types that all objects share. They have C's names, so that a dump of the types is
// C.
var (
	longLongType = btfgen.Int{Name: "long long", Bytes: 8, Encoding: btfgen.Signed}

	charType  = btfgen.Int{Name: "char", Bytes: 1, Encoding: btfgen.Char}
	ucharType = btfgen.Int{Name: "unsigned char", Bytes: 1}
	countType = btfgen.Int{Name: "unsigned long long", Bytes: 8}

	kindTypes = [...]btfgen.Type{
		kindInt8:    btfgen.Int{Name: "signed char", Bytes: 1, Encoding: btfgen.Signed},
		kindInt16:   btfgen.Int{Name: "short", Bytes: 2, Encoding: btfgen.Signed},
		kindInt32:   btfgen.Int{Name: "int", Bytes: 4, Encoding: btfgen.Signed},
		kindInt64:   longLongType,
		kindUint8:   ucharType,
		kindUint16:  btfgen.Int{Name: "unsigned short", Bytes: 2},
		kindUint32:  btfgen.Int{Name: "unsigned int", Bytes: 4},
		kindUint64:  countType,
		kindFloat32: btfgen.Float{Name: "float", Bytes: 4},
		kindFloat64: btfgen.Float{Name: "double", Bytes: 8},
		kindBool:    btfgen.Int{Name: "_Bool", Bytes: 1, Encoding: btfgen.Bool},
		kindString:  btfgen.Pointer{To: btfgen.Const{Of: charType}},
		kindBytes:   btfgen.Pointer{To: btfgen.Const{Of: ucharType}},
		kindText:    btfgen.Pointer{To: btfgen.Const{Of: charType}},

		kindDuration: btfgen.Typedef{Name: notes.DurationType, Of: longLongType},
		kindTime:     btfgen.Typedef{Name: notes.TimeType, Of: longLongType},
		kindAddr:     btfgen.Typedef{Name: notes.AddrType, Of: btfgen.Pointer{To: btfgen.Const{Of: ucharType}}},
		kindHex:      btfgen.Typedef{Name: notes.HexType, Of: btfgen.Pointer{To: btfgen.Const{Of: ucharType}}},
		kindUTF8:     btfgen.Pointer{To: btfgen.Const{Of: charType}},
		kindNetIP:    btfgen.Typedef{Name: notes.AddrType, Of: btfgen.Pointer{To: btfgen.Const{Of: ucharType}}},
		kindArray:    btfgen.Typedef{Name: notes.HexType, Of: btfgen.Pointer{To: btfgen.Const{Of: ucharType}}}, // and all others
	}
)

// slotStruct describes a block of slots. It returns nil for a block of none.
func slotStruct(names []string, args []argument, slots int) *btfgen.Struct {
	if slots == 0 {
		return nil
	}
	members := make([]btfgen.Member, slots)
	member := func(slot uint8, name string, t btfgen.Type) {
		members[slot] = btfgen.Member{Name: name, Type: t, Offset: uint32(slot) * 8}
	}
	for i, a := range args {
		member(a.slot, names[i], kindTypes[min(a.kind, kindArray)])
		if a.kind.terminated() || a.kind.counted() {
			member(a.lenSlot, lengthName(names[i]), countType)
		}
	}
	return &btfgen.Struct{Bytes: uint32(8 * slots), Members: members}
}

// marshalTypes returns the .BTF section for the signatures. The struct of signature i
// has the id i+1.
func marshalTypes(sigs []*signature) ([]byte, error) {
	if len(sigs) == 0 {
		return nil, nil
	}
	roots := make([]*btfgen.Struct, len(sigs))
	for i, s := range sigs {
		named := *s.typ
		named.Name = "usdt_args_" + strconv.Itoa(i)
		roots[i] = &named
	}
	return btfgen.Marshal(order, roots)
}
