package provider

import (
	"net/netip"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/notes"
)

// goWords describes a type of Go's library by its words in memory, so that typed
// readers know such a value in a record. FORMAT.md says what the words mean.
type goWords struct {
	typedef btfgen.Typedef
	kinds   [3]kindInfo
}

// known holds the descriptions by package and name of the type. It has a type only if
// its words mean that in this program, since the words are Go's own affair and may
// change; a type that is not known is described as any other struct. The descriptions
// are made when they are first needed, so that programs without records link none of
// this.
var known struct {
	sync.Once
	words map[string]*goWords
}

// goWordsOf returns the description of a type by its words, nil if there is none.
func goWordsOf(t reflect.Type) *goWords {
	known.Do(func() {
		known.words = map[string]*goWords{}
		if timeHolds() {
			known.words["time.Time"] = &goWords{
				wordsTypedef(notes.GoTimeType, [3]string{"wall", "ext", "loc"}, countType, longLongType, btfgen.Pointer{}),
				[3]kindInfo{kindInfos[kindUint64], kindInfos[kindInt64], {size: 8}},
			}
		}
		if addrHolds() {
			known.words["net/netip.Addr"] = &goWords{
				wordsTypedef(notes.GoAddrType, [3]string{"high", "low", "z"}, countType, countType, btfgen.Pointer{}),
				[3]kindInfo{kindInfos[kindUint64], kindInfos[kindUint64], {size: 8}},
			}
		}
	})
	return known.words[goName(t)]
}

// goName returns the name under which a type is known. Types defined from time.Time
// and netip.Addr have the names of these. They have the same fields, which no other
// type has, since the fields are not exported.
func goName(t reflect.Type) string {
	if t.Kind() == reflect.Struct && t.Size() == notes.GoWords {
		switch first := t.Field(0); first.PkgPath + "." + first.Name {
		case "time.wall":
			return "time.Time"
		case "net/netip.addr":
			return "net/netip.Addr"
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

// addrHolds reports whether the words of addresses mean what FORMAT.md says.
func addrHolds() bool {
	if unsafe.Sizeof(netip.Addr{}) != notes.GoWords {
		return false
	}
	for _, text := range []string{"", "10.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "2001:db8::7", "fe80::1%eth0"} {
		a, _ := netip.ParseAddr(text)
		w := (*[3]uint64)(unsafe.Pointer(&a))
		got, n := notes.GoAddr(w[0], w[1], w[2], uint64(ipv4Word()))
		if want, m := addrBytes(a); got != want || n != m {
			return false
		}
	}
	return true
}

// ipv4Word returns the last word of every IPv4 address.
func ipv4Word() uintptr {
	a := netip.AddrFrom4([4]byte{})
	return (*[3]uintptr)(unsafe.Pointer(&a))[2]
}
