package provider

import (
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/sys"
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

// goWords describes a type of Go's library by its words in memory, so that typed
// readers know such a value in a record. FORMAT.md says what the words mean.
type goWords struct {
	typedef btfgen.Typedef
	kinds   [3]kindInfo
	ipv4    uintptr // of netip.Addr: the last word of every IPv4 address
}

// known holds the descriptions by package and name of the type, nil if the words of a
// type mean something else in this program: they are Go's own affair and may change.
// Such a type is described as any other struct. The descriptions are made when they are
// first needed, so that programs without records link none of this.
var known struct {
	sys.Mutex
	words map[string]*goWords
}

// goWordsOf returns the description of a type by its words, nil if there is none.
func goWordsOf(t reflect.Type) *goWords {
	name := goName(t)
	if name != timeName && name != addrName {
		return nil
	}
	known.Lock()
	defer known.Unlock()
	w, ok := known.words[name]
	if ok {
		return w
	}
	if known.words == nil {
		known.words = map[string]*goWords{}
	}
	switch name {
	case timeName:
		if timeHolds() {
			w = &goWords{
				typedef: wordsTypedef(notes.GoTimeType, [3]string{"wall", "ext", "loc"}, countType, longLongType, btfgen.Pointer{}),
				kinds:   [3]kindInfo{kindInfos[kindUint64], kindInfos[kindInt64], {size: 8}},
			}
		}
	case addrName:
		if ipv4 := ipv4Word(t); ipv4 != 0 {
			w = &goWords{
				typedef: wordsTypedef(notes.GoAddrType, [3]string{"high", "low", "z"}, countType, countType, btfgen.Pointer{}),
				kinds:   [3]kindInfo{kindInfos[kindUint64], kindInfos[kindUint64], {size: 8}},
				ipv4:    ipv4,
			}
		}
	}
	known.words[name] = w
	return w
}

const (
	timeName = "time.Time"
	addrName = "net/netip.Addr"
)

// goName returns the name under which a type is known. Types defined from time.Time
// have its name: they have the same fields, which no other type has, since the fields
// are not exported.
func goName(t reflect.Type) string {
	if t.Kind() == reflect.Struct && t.Size() == notes.GoWords {
		if first := t.Field(0); first.PkgPath+"."+first.Name == "time.wall" {
			return timeName
		}
	}
	return qualifiedName(t)
}

func wordsTypedef(name string, members [3]string, types ...btfgen.Type) btfgen.Typedef {
	s := &btfgen.Struct{Bytes: notes.GoWords}
	for i, m := range members {
		s.Members = append(s.Members, btfgen.Member{Name: m, Type: types[i], Offset: uint32(8 * i)})
	}
	return btfgen.Typedef{Name: name, Of: s}
}

// timeHolds reports whether the words of times mean what FORMAT.md says.
func timeHolds() bool {
	if unsafe.Sizeof(time.Time{}) != notes.GoWords {
		return false
	}
	for _, t := range []time.Time{
		time.Now(), time.Now().UTC().Round(0), {}, time.Unix(-1e9, 999_999_999).In(time.FixedZone("", 3600)),
		time.Unix(1<<40, 1), time.Unix(-1<<40, 1),
	} {
		w := (*[2]uint64)(unsafe.Pointer(&t))
		if notes.GoTime(w[0], int64(w[1])) != nanoseconds(t) {
			return false
		}
	}
	return true
}

// ipv4Word returns the last word of every IPv4 address, or 0 if the words of addresses
// do not mean what FORMAT.md says. t is netip.Addr, which is not named here for the
// sake of programs without addresses (see Addr).
func ipv4Word(t reflect.Type) uintptr {
	if t.Size() != notes.GoWords {
		return 0
	}
	type words struct {
		high, low uint64
		z         unsafe.Pointer
	}
	mapped := words{low: 0xffff_0a00_0001, z: unsafe.Pointer(new(words))} // ::ffff:10.0.0.1, in some zone
	// Unmap makes it the IPv4 address.
	made := reflect.New(t)
	made.Elem().Set(reflect.NewAt(t, unsafe.Pointer(&mapped)).Elem().MethodByName("Unmap").Call(nil)[0])
	ipv4 := (*words)(made.UnsafePointer())
	for _, w := range []words{*ipv4, mapped, {z: mapped.z}, {high: 0x2001_0db8 << 32, low: 7, z: mapped.z}, {low: 1, z: ipv4.z}, {}} {
		a, ok := reflect.NewAt(t, unsafe.Pointer(&w)).Elem().Interface().(address)
		if !ok {
			return 0
		}
		got, n := notes.GoAddr(w.high, w.low, uint64(uintptr(w.z)), uint64(uintptr(ipv4.z)))
		if want, m := bytesOf(a); got != want || n != m {
			return 0
		}
	}
	return uintptr(ipv4.z)
}
