package reader

import (
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/cdecl"
	"github.com/go-usdt/usdt/notes"
)

// hidden begins the names of members that are not arguments themselves.
const hidden = "__"

// Fields returns the named arguments that st describes, or the fields of a struct
// within such arguments, by the rules of FORMAT.md. It leaves out bit fields, which
// argument blocks do not have.
func Fields(st *btf.Struct) []Field {
	lengths := map[string]uint32{}
	for _, m := range st.Members {
		name, ok := strings.CutPrefix(m.Name, hidden)
		if name, isLen := strings.CutSuffix(name, "_len"); ok && isLen {
			if i, ok := btf.UnderlyingType(m.Type).(*btf.Int); ok && i.Size == 8 {
				lengths[name] = m.Offset.Bytes()
			}
		}
	}
	var out []Field
	for _, m := range st.Members {
		if strings.HasPrefix(m.Name, hidden) || m.BitfieldSize != 0 || m.Offset%8 != 0 {
			continue
		}
		f := Field{Name: m.Name, CType: cdecl.Declare(m.Type, ""), Offset: m.Offset.Bytes(), Type: m.Type}
		if size, err := btf.Sizeof(m.Type); err == nil && size >= 0 {
			f.Size = uint32(size)
		}
		f.Kind = scalar(m.Type)
		var words bool
		f.Meaning, words = meaning(m.Type)
		if n, ok := lengths[m.Name]; ok {
			f.Kind, f.LenOffset = counted(m.Type, f.Kind, n)
		}
		if !f.means(words) {
			f.Meaning = Plain
		}
		out = append(out, f)
	}
	return out
}

// Meaning is what a value of some Kind stands for.
type Meaning uint8

const (
	Plain    Meaning = iota
	Duration         // an Int of 8 bytes: nanoseconds
	Time             // an Int of 8 bytes: nanoseconds since 1970, see notes.TimeType; an Other: notes.GoTimeType
	Address          // Bytes: an IP address of 4 or 16, or none; an Other: notes.GoAddrType
	NetIP            // Bytes: as Address, but an IPv4 address may have 16, see notes.NetIPType
	Hex              // Bytes: an identifier, shown as hexadecimal digits; an Other: an array of unsigned char
)

// meanings maps typedefs to their meanings, and says whether they apply to Go's words.
var meanings = map[string]struct {
	Meaning
	words bool
}{
	notes.DurationType: {Duration, false},
	notes.TimeType:     {Time, false},
	notes.AddrType:     {Address, false},
	notes.GoTimeType:   {Time, true},
	notes.GoAddrType:   {Address, true},
	notes.NetIPType:    {NetIP, false},
	notes.HexType:      {Hex, false},
}

// maxTypedefs bounds a chain of typedefs, which hostile BTF may close to a loop.
const maxTypedefs = 8

// meaning returns the meaning given by the typedefs of a type, and whether it
// applies to Go's words.
func meaning(t btf.Type) (m Meaning, words bool) {
	for range maxTypedefs {
		switch u := t.(type) {
		case *btf.Typedef:
			if m, ok := meanings[u.Name]; ok {
				return m.Meaning, m.words
			}
			if u.Name == notes.BytesType {
				return Plain, false
			}
			t = u.Type
		case *btf.Const:
			t = u.Type
		case *btf.Volatile:
			t = u.Type
		case *btf.Array:
			if i, ok := btf.UnderlyingType(u.Type).(*btf.Int); ok && i.Size == 1 && i.Name == "unsigned char" {
				return Hex, false
			}
			return Plain, false
		default:
			return Plain, false
		}
	}
	return Plain, false
}

// means reports whether the value can have its meaning.
func (f *Field) means(words bool) bool {
	switch {
	case words:
		return f.Kind == Other && f.LenOffset == 0 && f.Size == notes.GoWords
	case f.Meaning == Address || f.Meaning == NetIP:
		return f.Kind == Bytes
	case f.Meaning == Hex:
		_, array := btf.UnderlyingType(f.Type).(*btf.Array)
		return f.Kind == Bytes || array && f.LenOffset == 0
	}
	return f.Kind == Int && f.Size == 8
}

// scalar returns the kind of a value that lies in the block itself.
func scalar(t btf.Type) FieldKind {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		switch {
		case t.Encoding == btf.Bool:
			return Bool
		// A 'char' is a number here, signed or unsigned as BTF says.
		case t.Encoding&btf.Signed != 0:
			return Int
		}
		return Uint
	case *btf.Enum:
		if t.Signed {
			return Int
		}
		return Uint
	case *btf.Float:
		return Float
	}
	return Other
}

// counted returns the kind of a pointer whose length is at offset n: to char, text;
// to unsigned char, bytes; to others, elements. A member that is no pointer has no
// length, and keeps its kind.
func counted(t btf.Type, kind FieldKind, n uint32) (FieldKind, uint32) {
	p, ok := btf.UnderlyingType(t).(*btf.Pointer)
	if !ok {
		return kind, 0
	}
	target, ok := btf.UnderlyingType(p.Target).(*btf.Int)
	switch {
	case !ok || target.Size != 1 || target.Encoding == btf.Bool:
		return Other, n
	case target.Name == "unsigned char":
		return Bytes, n
	case target.Name == "signed char":
		return Other, n
	}
	return String, n
}

// Declare returns the C declaration of field f, such as "char *path" or
// "int codes[4]", without a semicolon.
func (f *Field) Declare() string { return cdecl.Declare(f.Type, f.Name) }
