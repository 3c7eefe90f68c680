package reader

import (
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/cdecl"
)

// hidden marks the names of members that are no arguments of their own.
const hidden = "__"

// fields returns the named arguments that st describes, by the rules of
// FORMAT.md. Bit fields, which no argument block has, are left out.
func fields(st *btf.Struct) []Field {
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
		if n, ok := lengths[m.Name]; ok {
			if kind := counted(m.Type); kind != 0 {
				f.Kind, f.LenOffset = kind, n
			}
		}
		out = append(out, f)
	}
	return out
}

// scalar returns the kind of a value that lies in the block itself.
func scalar(t btf.Type) FieldKind {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		switch {
		case t.Encoding == btf.Bool:
			return Bool
		// A 'char' is a number here, as unsigned or signed as BTF says.
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

// counted returns the kind of a pointer whose length is known: to char, text;
// to unsigned char, bytes; 0 for others.
func counted(t btf.Type) FieldKind {
	p, ok := btf.UnderlyingType(t).(*btf.Pointer)
	if !ok {
		return 0
	}
	target, ok := btf.UnderlyingType(p.Target).(*btf.Int)
	switch {
	case !ok || target.Size != 1:
		return 0
	case target.Name == "unsigned char":
		return Bytes
	}
	return String
}

// Declare returns the C declaration of field f, such as "char *path" or
// "int codes[4]", without a semicolon.
func (f *Field) Declare() string { return cdecl.Declare(f.Type, f.Name) }
