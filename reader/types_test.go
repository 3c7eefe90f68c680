package reader_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// argumentTypes returns BTF types of an argument block with every kind of member.
func argumentTypes(t testing.TB) (section []byte, id btf.TypeID) {
	t.Helper()
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	text := &btf.Pointer{Target: &btf.Const{Type: &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}}}
	raw := &btf.Pointer{Target: &btf.Int{Name: "unsigned char", Size: 1}}
	var members []btf.Member
	add := func(name string, typ btf.Type) {
		members = append(members, btf.Member{Name: name, Type: typ, Offset: btf.Bits(64 * len(members))})
	}
	add("id", u64)
	add("delta", &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed})
	add("ok", &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool})
	add("load", &btf.Float{Name: "double", Size: 8})
	add("path", text)
	add("body", raw)
	add("__body_len", u64)
	add("__path_len", u64)
	add("codes", &btf.Array{Type: &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}, Index: &btf.Int{Name: "int", Size: 4}, Nelems: 2})
	add("state", &btf.Typedef{Name: "state_t", Type: &btf.Enum{Name: "state", Size: 4, Values: []btf.EnumValue{{Name: "ON", Value: 1}}}})
	add("loose", text)
	st := &btf.Struct{Name: "usdt_args_0", Size: uint32(8 * len(members)), Members: members}
	b, err := btf.NewBuilder([]btf.Type{st}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err = b.Add(st); err != nil {
		t.Fatal(err)
	}
	if section, err = b.Marshal(nil, nil); err != nil {
		t.Fatal(err)
	}
	return section, id
}

// typed returns an object whose probe "a" has types.
func typed(t testing.TB) *object {
	section, id := argumentTypes(t)
	o := &object{notes: one}
	o.build(t)
	o.sections = map[string][]byte{
		".BTF": section,
		notes.TypesSectionName: notes.AppendTypes(nil, binary.LittleEndian, []notes.TypeRecord{
			{Provider: "p", Name: "a", Location: o.text.Addr + 4, Type: uint32(id), BlockSize: 88, Flags: notes.CalledStub, Site: notes.SiteNop5},
		}),
	}
	return o
}

func TestTypes(t *testing.T) {
	p := all(t, typed(t).build(t))[0]
	if p.Type == nil {
		t.Fatal("the probe has no types")
	}
	type field struct {
		Name, Declaration string
		Kind              reader.FieldKind
		Offset, Size, Len uint32
	}
	var got []field
	for _, f := range p.Type.Fields {
		got = append(got, field{f.Name, f.Declare(), f.Kind, f.Offset, f.Size, f.LenOffset})
	}
	want := []field{
		{"id", "unsigned long id", reader.Uint, 0, 8, 0},
		{"delta", "int delta", reader.Int, 8, 4, 0},
		{"ok", "_Bool ok", reader.Bool, 16, 1, 0},
		{"load", "double load", reader.Float, 24, 8, 0},
		{"path", "const char *path", reader.String, 32, 8, 56},
		{"body", "unsigned char *body", reader.Bytes, 40, 8, 48},
		{"codes", "int codes[2]", reader.Other, 64, 8, 0},
		{"state", "state_t state", reader.Uint, 72, 4, 0},
		{"loose", "const char *loose", reader.Other, 80, 8, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if p.Type.Record.Flags&notes.CalledStub == 0 || p.Type.Struct.Name != "usdt_args_0" {
		t.Errorf("got record %+v, struct %v", p.Type.Record, p.Type.Struct)
	}
}

func TestUnknownTypesVersion(t *testing.T) {
	o := typed(t)
	binary.LittleEndian.PutUint16(o.sections[notes.TypesSectionName][8:], 7)
	if p := all(t, o.build(t))[0]; p.Type != nil || p.Name != "a" {
		t.Errorf("got %s with type %v, want the plain note", p.Name, p.Type)
	}
}

// TestBadTypes checks that a probe whose types are wrong is still found, with an
// error about them.
func TestBadTypes(t *testing.T) {
	deep := deepBTF(1_000_000)
	for name, change := range map[string]func(o *object){
		"no such type": func(o *object) {
			binary.LittleEndian.PutUint32(o.sections[notes.TypesSectionName][32+24:], 1<<30)
		},
		"not a struct": func(o *object) {
			binary.LittleEndian.PutUint32(o.sections[notes.TypesSectionName][32+24:], 2)
		},
		"no BTF":     func(o *object) { delete(o.sections, ".BTF") },
		"not BTF":    func(o *object) { o.sections[".BTF"] = bytes.Repeat([]byte{0x7f, 'E', 'L', 'F'}, 100) },
		"cut BTF":    func(o *object) { o.sections[".BTF"] = o.sections[".BTF"][:40] },
		"no records": func(o *object) { o.sections[notes.TypesSectionName] = []byte("sdttypes") },
		"deep BTF": func(o *object) {
			o.sections[".BTF"] = deep
			binary.LittleEndian.PutUint32(o.sections[notes.TypesSectionName][32+24:], 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := typed(t)
			change(o)
			f, err := reader.NewFile(bytes.NewReader(o.build(t)))
			if err != nil {
				t.Fatal(err)
			}
			var errs []error
			var got []reader.Probe
			for p, err := range f.Probes() {
				if err != nil {
					errs = append(errs, err)
				} else {
					got = append(got, p)
				}
			}
			if len(got) != 1 || got[0].Name != "a" || got[0].Type != nil {
				t.Errorf("got %v, want the plain note", got)
			}
			if err := errors.Join(errs...); err == nil || !strings.Contains(fmt.Sprint(err), "BTF") && !strings.Contains(fmt.Sprint(err), "types") {
				t.Errorf("got error %v, want one that says what is wrong with the types", err)
			}
		})
	}
}

// deepBTF returns a .BTF section of n pointers, each to the next.
func deepBTF(n int) []byte {
	le := binary.LittleEndian
	types := make([]byte, 0, 12*n)
	for i := range n {
		types = le.AppendUint32(types, 0)
		types = le.AppendUint32(types, 2<<24) // BTF_KIND_PTR
		types = le.AppendUint32(types, uint32((i+2)%(n+1)))
	}
	b := le.AppendUint16(nil, 0xeb9f)
	b = append(b, 1, 0)
	for _, v := range []uint32{24, 0, uint32(len(types)), uint32(len(types)), 1} {
		b = le.AppendUint32(b, v)
	}
	return append(append(b, types...), 0)
}

// withTypes returns an object whose probe "a" has these arguments.
func withTypes(tb testing.TB, args *btf.Struct) []byte {
	tb.Helper()
	b, err := btf.NewBuilder([]btf.Type{args}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	id, err := b.Add(args)
	if err != nil {
		tb.Fatal(err)
	}
	section, err := b.Marshal(nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	o := &object{notes: one}
	o.build(tb)
	o.sections = map[string][]byte{
		".BTF": section,
		notes.TypesSectionName: notes.AppendTypes(nil, binary.LittleEndian, []notes.TypeRecord{
			{Provider: "p", Name: "a", Location: o.text.Addr + 4, Type: uint32(id), BlockSize: 8, Flags: notes.CalledStub, Site: notes.SiteNop5},
		}),
	}
	return o.build(tb)
}

// TestEndlessDeclarations reads small types whose declarations would take all memory
// or time: a name that many fields share, and structs whose fields are all of the
// next struct.
func TestEndlessDeclarations(t *testing.T) {
	fields := func(n int, of btf.Type) *btf.Struct {
		st := &btf.Struct{Name: "s"}
		for range n {
			st.Members = append(st.Members, btf.Member{Name: "m", Type: of})
		}
		return st
	}
	long := &btf.Struct{Name: strings.Repeat("x", 1<<20-100)}
	deep := fields(0, nil)
	for range 8 {
		deep = fields(100, deep)
	}
	for name, args := range map[string]*btf.Struct{
		"long names": fields(2000, long), "pointers": fields(2000, &btf.Pointer{Target: long}), "nested": deep,
		"behind a pointer": fields(1, &btf.Pointer{Target: fields(2000, long)}),
	} {
		data := withTypes(t, args)
		within(t, func() {
			f, err := reader.NewFile(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			var first error
			for p, err := range f.Probes() {
				if p.Type != nil {
					t.Errorf("%s: a probe has types", name)
				}
				if first == nil {
					first = err
				}
			}
			if first == nil || !strings.Contains(first.Error(), "longer than 1024 KiB") {
				t.Errorf("%s: got %v, want that the declaration is too long", name, first)
			}
		})
	}
	// A list, and arguments of the largest size.
	next := &btf.Pointer{}
	next.Target = fields(2, next)
	if p := all(t, withTypes(t, fields(1, next)))[0]; p.Type == nil {
		t.Error("a list is refused")
	}
	if p := all(t, withTypes(t, fields(1000, fields(10, &btf.Int{Name: "int", Size: 4}))))[0]; p.Type == nil {
		t.Error("a large declaration is refused")
	}
}
