package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// members returns a struct of size bytes with n members of one byte that lie step bytes apart.
func members(n int, step, size uint32, name string) *btf.Struct {
	st := &btf.Struct{Name: "s", Size: size}
	for i := range n {
		st.Members = append(st.Members, btf.Member{
			Name: name, Type: &btf.Int{Name: "signed char", Size: 1, Encoding: btf.Signed}, Offset: btf.Bits(8 * step * uint32(i)),
		})
	}
	return st
}

// TestBound checks that events of types that make many values of few bytes are in proportion to
// their records and say what is missing, and that those of other types are whole.
func TestBound(t *testing.T) {
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	array := func(of btf.Type, n uint32) []btf.Member {
		return []btf.Member{{Name: "a", Type: &btf.Array{Type: of, Index: u64, Nelems: n}}}
	}
	slice := func(of btf.Type) []btf.Member {
		return []btf.Member{{Name: "a", Type: &btf.Pointer{Target: of}}, {Name: "__a_len", Type: u64, Offset: 64}}
	}
	nested := members(200, 1, 200, strings.Repeat("n", 300))
	deep := &btf.Struct{Name: "deep", Size: 15200, Members: array(nested, 76)}
	const overlap, text, left = "it overlaps the member in front of it", " bytes of text", "arguments are left out"
	for _, test := range []struct {
		name    string
		members []btf.Member
		size    uint32
		want    string // a part of the errors; "" for none
	}{
		{"an array of structs whose members overlap", array(members(4000, 0, 1, "m"), 4000), 4000, text},
		{"a slice of structs whose members overlap", slice(members(4000, 0, 1, "m")), 16, text},
		{"arguments that overlap", members(4000, 0, 8, "m").Members, 8, left},
		{"two members that overlap", []btf.Member{{Name: "a", Type: members(2, 0, 1, "m")}}, 8, overlap},
		{"names longer than values", array(nested, 70), 14000, text},
		{"names longer than values, nested", []btf.Member{{Name: "a", Type: deep}}, 15200, text},
		{"names of arguments longer than values", nested.Members, 200, left},
		{"a name that is escaped", members(1, 1, 8, strings.Repeat("\x01", 3000)).Members, 8, left},
		{"a slice with long names", slice(members(4, 1, 4, strings.Repeat("n", 300))), 16, text},

		{"an array of bytes", array(&btf.Int{Name: "signed char", Size: 1, Encoding: btf.Signed}, notes.MaxBlockSize), notes.MaxBlockSize, ""},
		{"an array of structs", array(members(4, 1, 4, "some_name"), 3000), 12000, ""},
		{"a slice of structs", slice(members(4, 1, 4, "some_name_that_is_long")), 16, `{"a":"truncated to 1024 of 4096 elements"}}`},
		{"many arguments", members(300, 1, 300, "argument_that_is_long").Members, 300, ""},
	} {
		st := &btf.Struct{Size: test.size, Members: test.members}
		typ := &reader.Type{Struct: st, Fields: reader.Fields(st), Record: notes.TypeRecord{BlockSize: test.size}}
		s, err := shape.OfBlock(typ, 4096, nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		block := make([]byte, test.size)
		for i := range block {
			block[i] = 0x80
		}
		if test.size == 16 {
			copy(block[8:], []byte{0, 16, 0, 0, 0, 0, 0, 0})
		}
		rec := s.Layout.Capture(nil, &record.Header{}, nil, block, func(uint64, []byte) bool { return true })
		ev, err := decoderOf(s).Decode(rec)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		json := ev.AppendJSON(nil)
		if n := len(json); n > 2048+90*len(rec) {
			t.Errorf("%s: a record of %d bytes has %d of JSON", test.name, len(rec), n)
		}
		_, errors, said := strings.Cut(string(json), `"errors":`)
		if said != (test.want != "") || !strings.Contains(errors, test.want) {
			t.Errorf("%s: the errors are %.200s, want %q", test.name, errors, test.want)
		}
		if n := len(fmt.Sprint(ev.Args)); n > 2048+90*len(rec) {
			t.Errorf("%s: a record of %d bytes has values of %d", test.name, len(rec), n)
		}
	}
}
