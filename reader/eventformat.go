package reader

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
)

// parseEventFormat returns the name of a probe and the members of its argument block, as
// the file "format" of an events directory has them.
func parseEventFormat(text string) (name string, members []btf.Member, err error) {
	name, text, ok := strings.Cut(strings.TrimPrefix(text, "name: "), "\nformat:\n")
	if !ok || name == "" {
		return "", nil, fmt.Errorf("it does not begin with the name of a probe")
	}
	for line := range strings.Lines(text) {
		if len(members) == notes.MaxFields {
			return "", nil, fmt.Errorf("it has more than %d fields", notes.MaxFields)
		}
		m, err := parseEventField(strings.TrimSpace(line))
		if err != nil {
			return "", nil, fmt.Errorf("field %q: %w", line, err)
		}
		members = append(members, m)
	}
	return name, members, nil
}

// parseEventField parses "field:DECLARATION; offset:N; size:N; signed:N;".
func parseEventField(line string) (m btf.Member, err error) {
	parts := strings.Split(line, ";")
	if len(parts) != 5 || parts[4] != "" {
		return m, fmt.Errorf("want field, offset, size and signed")
	}
	var numbers [3]uint64
	for i, key := range []string{"offset:", "size:", "signed:"} {
		digits, ok := strings.CutPrefix(strings.TrimSpace(parts[1+i]), key)
		if numbers[i], err = strconv.ParseUint(digits, 10, 32); !ok || err != nil || numbers[i] > math.MaxInt32/8 {
			return m, fmt.Errorf("want a number behind %s", key)
		}
	}
	declaration, ok := strings.CutPrefix(parts[0], "field:")
	if !ok {
		return m, fmt.Errorf("want a field")
	}
	m.Offset = btf.Bits(8 * numbers[0])
	m.Name, m.Type, err = parseDeclaration(declaration, uint32(numbers[1]), numbers[2] != 0)
	return m, err
}

// parseDeclaration parses the C declaration of a name that takes size bytes: what
// internal/btfgen.Declare writes. Structs have no members.
func parseDeclaration(text string, size uint32, signed bool) (name string, t btf.Type, err error) {
	text = strings.TrimSpace(text)
	counts, inner := []uint32(nil), ""
	for strings.HasSuffix(text, "]") {
		i := strings.LastIndexByte(text, '[')
		n, err := strconv.ParseUint(text[i+1:len(text)-1], 10, 32)
		if i < 0 || err != nil || len(counts) == notes.MaxNesting {
			return "", nil, fmt.Errorf("want a number of elements in brackets")
		}
		counts, text = append(counts, uint32(n)), text[:i]
	}
	if i := strings.Index(text, "(*"); i >= 0 && strings.HasSuffix(text, ")") { // a pointer to an array
		text, inner = text[:i], text[i+1:len(text)-1]
	} else if i := strings.LastIndexAny(text, " *"); i >= 0 {
		text, inner = text[:i+1], text[i+1:]
	}
	stars := strings.Count(text, "*") + strings.Count(inner, "*")
	name = strings.TrimLeft(inner, "* ")
	if name == "" || stars > notes.MaxNesting || strings.ContainsAny(name, " \t()*") {
		return "", nil, fmt.Errorf("want a C declaration")
	}
	each := size
	for _, n := range counts {
		each /= max(n, 1)
	}
	if stars > 0 {
		each = 0
	}
	base, behind, _ := strings.Cut(text, "*")
	base, constant := strings.CutPrefix(strings.TrimSpace(base), "const ")
	if t, err = namedType(base, each, signed); err != nil {
		return "", nil, err
	}
	if constant {
		t = &btf.Const{Type: t}
	}
	point := func(text string) {
		for range strings.Count(text, "*") {
			t = &btf.Pointer{Target: t}
		}
		if strings.HasSuffix(strings.TrimSpace(text), "const") {
			t = &btf.Const{Type: t}
		}
	}
	if stars > strings.Count(inner, "*") {
		point("*" + behind)
	}
	for _, n := range counts {
		t = &btf.Array{Type: t, Index: &btf.Int{Name: "unsigned int", Size: 4}, Nelems: n}
	}
	point(inner[:len(inner)-len(name)])
	return name, t, nil
}

// baseSizes are the sizes in bytes of numbers, by their names in C.
var baseSizes = map[string]uint32{
	"_Bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2,
	"int": 4, "unsigned int": 4, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
}

// namedType returns the type with that name, of size bytes where that is not 0.
func namedType(name string, size uint32, signed bool) (btf.Type, error) {
	if tag, ok := strings.CutPrefix(name, "struct "); ok {
		return &btf.Struct{Name: strings.Trim(tag, "{.} "), Size: size}, nil
	}
	switch n, known := baseSizes[name]; {
	case known && size != 0 && size != n:
		return nil, fmt.Errorf("%s has %d bytes, not %d", name, n, size)
	case name == "_Bool":
		return &btf.Int{Name: name, Size: n, Encoding: btf.Bool}, nil
	case name == "char":
		return &btf.Int{Name: name, Size: n, Encoding: btf.Char}, nil
	case name == "float" || name == "double":
		return &btf.Float{Name: name, Size: n}, nil
	case known && strings.HasPrefix(name, "unsigned"):
		return &btf.Int{Name: name, Size: n}, nil
	case known:
		return &btf.Int{Name: name, Size: n, Encoding: btf.Signed}, nil
	case name == "void":
		return &btf.Void{}, nil
	case name == "" || strings.ContainsAny(name, " \t"):
		return nil, fmt.Errorf("type %q is unknown", name)
	}
	uchar := &btf.Int{Name: "unsigned char", Size: 1}
	var of btf.Type = &btf.Struct{Size: size}
	switch name {
	case notes.AddrType, notes.NetIPType, notes.HexType:
		of = &btf.Pointer{Target: &btf.Const{Type: uchar}}
	case notes.BytesType:
		of = &btf.Array{Type: uchar, Index: uchar, Nelems: size}
	case notes.GoTimeType, notes.GoAddrType:
		of = &btf.Struct{Size: notes.GoWords}
	case notes.DurationType, notes.TimeType:
		of = &btf.Int{Name: "long long", Size: 8, Encoding: btf.Signed}
	default:
		if size == 1 || size == 2 || size == 4 || size == 8 {
			n := &btf.Int{Name: name, Size: size}
			if signed {
				n.Encoding = btf.Signed
			}
			of = n
		}
	}
	return &btf.Typedef{Name: name, Type: of}, nil
}
