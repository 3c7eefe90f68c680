package btfgen_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/btfgen"
	"github.com/go-usdt/usdt/internal/cdecl"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

var (
	char   = btfgen.Int{Name: "char", Bytes: 1, Encoding: btfgen.Char}
	number = btfgen.Int{Name: "int", Bytes: 4, Encoding: btfgen.Signed}
	flag   = btfgen.Int{Name: "_Bool", Bytes: 1, Encoding: btfgen.Bool}
	real   = btfgen.Float{Name: "double", Bytes: 8}
	text   = btfgen.Pointer{To: btfgen.Const{Of: char}}
	nanos  = btfgen.Typedef{Name: "nanoseconds", Of: btfgen.Int{Name: "long long", Bytes: 8, Encoding: btfgen.Signed}}
)

// sample returns structs with every kind of type, one of which leads to itself.
func sample() []*btfgen.Struct {
	node := &btfgen.Struct{Name: "node", Bytes: 16}
	node.Members = []btfgen.Member{
		{Name: "next", Type: btfgen.Pointer{To: node}},
		{Name: "value", Type: nanos, Offset: 8},
	}
	unnamed := &btfgen.Struct{Bytes: 8, Members: []btfgen.Member{{Name: "x", Type: btfgen.Array{Elem: number, Len: 2}}}}
	return []*btfgen.Struct{
		{Name: "first", Bytes: 72, Members: []btfgen.Member{
			{Name: "text", Type: text},
			{Name: "anything", Type: btfgen.Pointer{}, Offset: 8},
			{Name: "ratio", Type: real, Offset: 16},
			{Name: "list", Type: btfgen.Pointer{To: node}, Offset: 24},
			{Name: "inside", Type: unnamed, Offset: 32},
			{Name: "matrix", Type: btfgen.Array{Elem: btfgen.Array{Elem: char, Len: 3}, Len: 4}, Offset: 40},
			{Name: "yes", Type: flag, Offset: 52},
			{Name: "row", Type: btfgen.Pointer{To: btfgen.Array{Elem: number, Len: 4}}, Offset: 56},
			{Name: "again", Type: btfgen.Pointer{To: btfgen.Const{Of: char}}, Offset: 64},
		}},
		{Name: "empty"},
		{Name: "third", Bytes: 8, Members: []btfgen.Member{{Name: "list", Type: btfgen.Pointer{To: node}}}},
	}
}

// random returns structs made of each other and of all kinds of types.
func random(r *rand.Rand) []*btfgen.Struct {
	structs := make([]*btfgen.Struct, 1+r.IntN(8))
	for i := range structs {
		structs[i] = &btfgen.Struct{Name: fmt.Sprintf("s%d", i), Bytes: r.Uint32N(1 << 16)}
	}
	names := []string{"a", "b", "c", "int", "s1", strings.Repeat("long", 20)}
	var typ func(depth int) btfgen.Type
	typ = func(depth int) btfgen.Type {
		leaves := []btfgen.Type{char, number, flag, real, text, nanos, btfgen.Pointer{To: structs[r.IntN(len(structs))]}}
		if depth == 0 {
			return leaves[r.IntN(len(leaves))]
		}
		switch r.IntN(5) {
		case 0:
			return btfgen.Pointer{To: typ(depth - 1)}
		case 1:
			return btfgen.Const{Of: typ(depth - 1)}
		case 2:
			return btfgen.Array{Elem: typ(depth - 1), Len: r.Uint32N(100)}
		case 3:
			return btfgen.Typedef{Name: names[r.IntN(len(names))], Of: typ(depth - 1)}
		}
		return leaves[r.IntN(len(leaves))]
	}
	for _, s := range structs {
		for range r.IntN(10) {
			s.Members = append(s.Members, btfgen.Member{Name: names[r.IntN(len(names))], Type: typ(4), Offset: r.Uint32N(1 << 24)})
		}
	}
	return structs
}

// converter converts our types to those of cilium/ebpf.
type converter map[*btfgen.Struct]*btf.Struct

func (c converter) typ(t btfgen.Type) btf.Type {
	switch t := t.(type) {
	case btfgen.Int:
		return &btf.Int{Name: t.Name, Size: t.Bytes, Encoding: btf.IntEncoding(t.Encoding)}
	case btfgen.Float:
		return &btf.Float{Name: t.Name, Size: t.Bytes}
	case btfgen.Pointer:
		return &btf.Pointer{Target: c.typ(t.To)}
	case btfgen.Const:
		return &btf.Const{Type: c.typ(t.Of)}
	case btfgen.Typedef:
		return &btf.Typedef{Name: t.Name, Type: c.typ(t.Of)}
	case btfgen.Array:
		return &btf.Array{Index: &btf.Int{Name: "unsigned int", Size: 4}, Type: c.typ(t.Elem), Nelems: t.Len}
	case *btfgen.Struct:
		if s, ok := c[t]; ok {
			return s
		}
		s := &btf.Struct{Name: t.Name, Size: t.Bytes}
		c[t] = s
		for _, m := range t.Members {
			s.Members = append(s.Members, btf.Member{Name: m.Name, Type: c.typ(m.Type), Offset: btf.Bits(m.Offset) * 8})
		}
		return s
	}
	return &btf.Void{}
}

// differ returns the first difference between two types, "" if there is none. seen
// has the structs that are being compared.
func differ(a, b btf.Type, seen map[[2]btf.Type]bool) string {
	here := fmt.Sprintf("%v, want %v", a, b)
	inner := func(x, y btf.Type) string { return differ(x, y, seen) }
	switch a := a.(type) {
	case *btf.Void:
		if _, ok := b.(*btf.Void); ok {
			return ""
		}
	case *btf.Int:
		if b, ok := b.(*btf.Int); ok && *a == *b {
			return ""
		}
	case *btf.Float:
		if b, ok := b.(*btf.Float); ok && *a == *b {
			return ""
		}
	case *btf.Pointer:
		if b, ok := b.(*btf.Pointer); ok {
			return inner(a.Target, b.Target)
		}
	case *btf.Const:
		if b, ok := b.(*btf.Const); ok {
			return inner(a.Type, b.Type)
		}
	case *btf.Typedef:
		if b, ok := b.(*btf.Typedef); ok && a.Name == b.Name {
			return inner(a.Type, b.Type)
		}
	case *btf.Array:
		if b, ok := b.(*btf.Array); ok && a.Nelems == b.Nelems {
			return inner(a.Type, b.Type) + inner(a.Index, b.Index)
		}
	case *btf.Struct:
		b, ok := b.(*btf.Struct)
		if seen[[2]btf.Type{a, b}] {
			return ""
		}
		seen[[2]btf.Type{a, b}] = true
		if !ok || a.Name != b.Name || a.Size != b.Size || len(a.Members) != len(b.Members) {
			return here
		}
		for i, m := range a.Members {
			n := b.Members[i]
			if m.Name != n.Name || m.Offset != n.Offset || m.BitfieldSize != 0 {
				return fmt.Sprintf("%s: member %v, want %v", a.Name, m, n)
			}
			if d := inner(m.Type, n.Type); d != "" {
				return d
			}
		}
		return ""
	}
	return here
}

// TestMarshal checks that cilium/ebpf reads the encoded types, under the promised
// ids, in both byte orders.
func TestMarshal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lists := [][]*btfgen.Struct{sample(), nil}
	for range 300 {
		lists = append(lists, random(r))
	}
	for n, roots := range lists {
		for _, order := range []interface {
			binary.ByteOrder
			binary.AppendByteOrder
		}{binary.LittleEndian, binary.BigEndian} {
			raw, err := btfgen.Marshal(order, roots)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatalf("list %d: %v", n, err)
			}
			c := converter{}
			for i, s := range roots {
				got, err := spec.TypeByID(btf.TypeID(i + 1))
				if err != nil {
					t.Fatal(err)
				}
				if d := differ(got, c.typ(s), map[[2]btf.Type]bool{}); d != "" {
					t.Errorf("list %d, type %d: got %s", n, i+1, d)
				}
				if size, err := btf.Sizeof(got); err != nil || uint64(size) != s.Size() {
					t.Errorf("list %d, type %d has %d bytes (%v), want %d", n, i+1, size, err, s.Size())
				}
			}
			if again, _ := btfgen.Marshal(order, roots); !bytes.Equal(again, raw) {
				t.Errorf("list %d: equal types give other bytes", n)
			}
		}
	}
}

// TestEachTypeOnce checks that types which members of several structs share are
// written once.
func TestEachTypeOnce(t *testing.T) {
	var roots []*btfgen.Struct
	for i := range 100 {
		roots = append(roots, &btfgen.Struct{Name: fmt.Sprint("s", i), Bytes: 8, Members: []btfgen.Member{{Name: "m", Type: btfgen.Pointer{To: btfgen.Const{Of: char}}}}})
	}
	raw, err := btfgen.Marshal(binary.LittleEndian, roots)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range spec.All() {
		n++
	}
	if want := 1 + 100 + 3; n != want { // void, the structs, pointer, const and char
		t.Errorf("there are %d types, want %d", n, want)
	}
}

func TestTooManyMembers(t *testing.T) {
	s := &btfgen.Struct{Name: "wide", Members: make([]btfgen.Member, btfgen.MaxMembers+1)}
	if _, err := btfgen.Marshal(binary.LittleEndian, []*btfgen.Struct{s}); err == nil || !strings.Contains(err.Error(), "struct wide has 65536 members") {
		t.Errorf("got %v", err)
	}
}

// TestBpftool compares the C that bpftool makes of our types with what it makes of
// those from cilium/ebpf's encoder.
func TestBpftool(t *testing.T) {
	needs.Tools(t, "bpftool")
	dump := func(name string, raw []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		return needs.Run(t, "bpftool", "btf", "dump", "file", path, "format", "c")
	}
	raw, err := btfgen.Marshal(binary.LittleEndian, sample())
	if err != nil {
		t.Fatal(err)
	}
	var b btf.Builder
	c := converter{}
	for _, s := range sample() {
		if _, err := b.Add(c.typ(s)); err != nil {
			t.Fatal(err)
		}
	}
	theirs, err := b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian})
	if err != nil {
		t.Fatal(err)
	}
	got, want := dump("ours", raw), dump("theirs", theirs)
	// bpftool must show the same types, in any order.
	if g, w := sorted(got), sorted(want); g != w || !strings.Contains(got, "struct node *next;") {
		t.Errorf("bpftool shows\n%s\nwant\n%s", got, want)
	}
}

// sorted returns the paragraphs of text in sorted order.
func sorted(text string) string {
	parts := strings.Split(strings.TrimSpace(text), "\n\n")
	slices.Sort(parts)
	return strings.Join(parts, "\n\n")
}

// TestDeclare compares declarations with those of the package that declares
// cilium/ebpf's types.
func TestDeclare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	lists := [][]*btfgen.Struct{sample()}
	for range 100 {
		lists = append(lists, random(r))
	}
	for _, list := range lists {
		c := converter{}
		for _, s := range list {
			for _, m := range s.Members {
				if got, want := btfgen.Declare(m.Type, "x"), cdecl.Declare(c.typ(m.Type), "x"); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}
	}
}

func TestIsSigned(t *testing.T) {
	for typ, want := range map[btfgen.Type]bool{
		number: true, nanos: true, btfgen.Const{Of: number}: true,
		char: false, flag: false, real: false, text: false, btfgen.Array{Elem: number, Len: 1}: false,
	} {
		if got := btfgen.IsSigned(typ); got != want {
			t.Errorf("%v: got %v, want %v", typ, got, want)
		}
	}
}
