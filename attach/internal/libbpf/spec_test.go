package libbpf

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// old returns the type of specs of libbpf 1.1, with room for args arguments.
func old(args uint32) *btf.Struct {
	u64, u32, s16, u8 := &btf.Int{Size: 8}, &btf.Enum{Size: 4}, &btf.Int{Size: 2}, &btf.Int{Size: 1}
	for i, name := range []string{"BPF_USDT_ARG_CONST", "BPF_USDT_ARG_REG", "BPF_USDT_ARG_REG_DEREF"} {
		u32.Values = append(u32.Values, btf.EnumValue{Name: name, Value: uint64(i)})
	}
	arg := &btf.Struct{Name: "arg", Size: 16, Members: []btf.Member{
		{Name: "val_off", Type: u64},
		{Name: "arg_type", Type: u32, Offset: 64},
		{Name: "reg_off", Type: s16, Offset: 96},
		{Name: "arg_signed", Type: u8, Offset: 112},
		{Name: "arg_bitshift", Type: u8, Offset: 120},
	}}
	return &btf.Struct{Name: "spec", Size: 16*args + 16, Members: []btf.Member{
		{Name: "args", Type: &btf.Array{Type: arg, Nelems: args}},
		{Name: "usdt_cookie", Type: u64, Offset: btf.Bits(128 * args)},
		{Name: "arg_cnt", Type: s16, Offset: btf.Bits(128*args + 64)},
	}}
}

func TestEncodeOld(t *testing.T) {
	l, err := LayoutOf(old(3))
	if err != nil {
		t.Fatal(err)
	}
	failed := map[int]error{}
	spec := l.Encode([]Arg{
		{Kind: Const, Value: 1<<64 - 9, Size: 4, Signed: true},
		{Kind: Indexed, Reg: 8, Index: 16, Scale: 3, Size: 8},
		{Kind: Memory, Value: 1<<64 - 1204, Reg: 152, Size: 1},
		{Kind: Const, Size: 8},
	}, 0x1122334455667788, func(i int, err error) { failed[i] = err })
	want := []uint64{
		1<<64 - 9, 0 | 0<<32 | 1<<48 | 32<<56,
		0, 0xffffffff,
		1<<64 - 1204, 2 | 152<<32 | 56<<56,
		0x1122334455667788, 3,
	}
	for i, w := range want {
		if got := binary.LittleEndian.Uint64(spec[8*i:]); got != w {
			t.Errorf("word %d of the spec is %#x, want %#x", i, got, w)
		}
	}
	if len(spec) != 64 || len(failed) != 2 || !errors.Is(failed[1], ErrNoIndexed) || failed[3] == nil {
		t.Errorf("%d bytes, errors %v, want 64, and errors of arguments 1 and 3", len(spec), failed)
	}
}

func TestEncodeNewest(t *testing.T) {
	l := layout(t)
	if l.Size != 304 || l.Args != 12 {
		t.Errorf("layout %+v, want 304 bytes for 12 arguments", l)
	}
	spec := l.Encode([]Arg{{Kind: Indexed, Value: 1<<64 - 96, Reg: 32, Index: 80, Scale: 3, Size: 1, Signed: true}}, 0, func(i int, err error) {
		t.Errorf("argument %d: %v", i, err)
	})
	// As clang lays out 12 and 4 bits behind an enumerator of 8.
	want := []uint64{1<<64 - 96, 3 | (80|3<<12)<<16 | 32<<48, 1 | 56<<8}
	for i, w := range want {
		if got := binary.LittleEndian.Uint64(spec[8*i:]); got != w {
			t.Errorf("word %d of the spec is %#x, want %#x", i, got, w)
		}
	}
	var failed error
	l.Encode([]Arg{{Kind: Indexed, Index: 1 << 12, Size: 1}}, 0, func(i int, err error) { failed = err })
	if failed == nil {
		t.Error("an index register beyond 12 bits is no error")
	}
}

func TestLayoutErrors(t *testing.T) {
	for name, change := range map[string]func(*btf.Struct){
		"no args":      func(s *btf.Struct) { s.Members = s.Members[1:] },
		"no count":     func(s *btf.Struct) { s.Members = s.Members[:2] },
		"outside":      func(s *btf.Struct) { s.Size = 64 },
		"many":         func(s *btf.Struct) { s.Members[0].Type.(*btf.Array).Nelems = 1 << 31 },
		"none":         func(s *btf.Struct) { s.Members[0].Type.(*btf.Array).Nelems = 0 },
		"not an array": func(s *btf.Struct) { s.Members[0].Type = &btf.Int{Size: 4} },
		"cookie":       func(s *btf.Struct) { s.Members[1].Offset = 1 << 31 },
		"large":        func(s *btf.Struct) { s.Members[1].Type = old(3) },
		"kind": func(s *btf.Struct) {
			s.Members[0].Type.(*btf.Array).Type.(*btf.Struct).Members[1].Type = &btf.Int{Size: 4}
		},
	} {
		spec := old(12)
		change(spec)
		if l, err := LayoutOf(spec); err == nil {
			t.Errorf("%s: layout %+v, want an error", name, l)
		}
	}
	if _, err := LayoutOf(nil); err == nil || !strings.Contains(err.Error(), "-g") {
		t.Errorf("no type: error %v, want one that says to compile with -g", err)
	}
}
