package sdtdump

import (
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Limits on the text of a type, which a hostile object can make long.
const (
	maxGoTypeDepth = 8
	maxGoType      = 4 << 10
)

// goType is the text of an argument's type in Go, as a service declared it, except
// for names that objects do not hold: an int is an int64, and a named type is its
// underlying type.
type goType struct{ strings.Builder }

// field appends the type of f.
func (t *goType) field(f *reader.Field, depth int) {
	switch f.Meaning {
	case reader.Duration:
		t.WriteString("time.Duration")
		return
	case reader.Time:
		t.WriteString("time.Time")
		return
	case reader.Address:
		t.WriteString("netip.Addr")
		return
	case reader.NetIP:
		t.WriteString("net.IP")
		return
	}
	switch f.Kind {
	case reader.String:
		t.WriteString("string")
	case reader.Bytes:
		if f.Meaning == reader.Hex {
			t.WriteString("provider.Hex")
			return
		}
		t.WriteString("[]byte")
	case reader.Other:
		if p, ok := btf.UnderlyingType(f.Type).(*btf.Pointer); ok && f.LenOffset != 0 {
			t.WriteString("[]")
			t.of(p.Target, depth+1)
			return
		}
		t.of(f.Type, depth)
	default:
		t.of(f.Type, depth)
	}
}

// of appends a type that is not a field.
func (t *goType) of(typ btf.Type, depth int) {
	if depth > maxGoTypeDepth || t.Len() > maxGoType {
		t.WriteString("…")
		return
	}
	switch u := btf.UnderlyingType(typ).(type) {
	case *btf.Int:
		t.number(u.Encoding == btf.Bool, u.Encoding&btf.Signed != 0, "int", u.Size)
	case *btf.Enum:
		t.number(false, u.Signed, "int", u.Size)
	case *btf.Float:
		t.number(false, true, "float", u.Size)
	case *btf.Array:
		t.WriteString("[" + strconv.FormatUint(uint64(u.Nelems), 10) + "]")
		t.of(u.Type, depth+1)
	case *btf.Pointer:
		t.WriteString("*")
		t.of(u.Target, depth+1)
	case *btf.Struct:
		t.structure(u, depth)
	default:
		t.WriteString("any")
	}
}

func (t *goType) number(boolean, signed bool, name string, size uint32) {
	switch {
	case boolean:
		t.WriteString("bool")
		return
	case !signed:
		t.WriteString("u")
	}
	t.WriteString(name + strconv.FormatUint(8*uint64(size), 10))
}

func (t *goType) structure(s *btf.Struct, depth int) {
	fields := reader.Fields(s)
	// FORMAT.md: elements that are strings or slices are structs of "data" and
	// its length.
	if s.Name == "" && len(s.Members) == 2 && len(fields) == 1 && fields[0].Name == "data" && fields[0].LenOffset != 0 {
		t.field(&fields[0], depth+1)
		return
	}
	t.WriteString("struct{")
	for i, f := range fields {
		if i > 0 {
			t.WriteString("; ")
		}
		if t.Len() > maxGoType {
			t.WriteString("…")
			break
		}
		t.WriteString(f.Name + " ")
		t.field(&f, depth+1)
	}
	t.WriteString("}")
}

// noteType returns the type that a note gives an argument.
func noteType(a *notes.Arg) string {
	var t goType
	switch {
	case a.Float:
		t.number(false, true, "float", uint32(a.Size))
	default:
		t.number(false, a.Signed, "int", uint32(a.Size))
	}
	return t.String()
}

// argumentName returns the name that tracers give an argument without a name.
func argumentName(i int) string { return "arg" + strconv.Itoa(i) }
