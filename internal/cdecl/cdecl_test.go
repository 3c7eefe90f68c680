package cdecl_test

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/cdecl"
)

func TestDeclare(t *testing.T) {
	char, number := &btf.Int{Name: "char", Size: 1}, &btf.Int{Name: "int", Size: 4}
	pointer := func(t btf.Type) btf.Type { return &btf.Pointer{Target: t} }
	array := func(t btf.Type, n uint32) btf.Type { return &btf.Array{Type: t, Nelems: n} }
	for _, tt := range []struct {
		typ  btf.Type
		want string // of "x"
		cast string // without a name
	}{
		{number, "int x", "int"},
		{nil, "void x", "void"},
		{pointer(&btf.Void{}), "void *x", "void *"},
		{pointer(&btf.Const{Type: char}), "const char *x", "const char *"},
		{&btf.Const{Type: pointer(char)}, "char *const x", "char *const"},
		{&btf.Const{Type: pointer(&btf.Const{Type: char})}, "const char *const x", "const char *const"},
		{&btf.Volatile{Type: number}, "volatile int x", "volatile int"},
		{&btf.Restrict{Type: pointer(char)}, "char *x", "char *"},
		{&btf.TypeTag{Type: pointer(char), Value: "user"}, "char *x", "char *"},
		{array(number, 4), "int x[4]", "int [4]"},
		{array(array(number, 4), 2), "int x[2][4]", "int [2][4]"},
		{array(pointer(char), 3), "char *x[3]", "char *[3]"},
		{pointer(array(number, 3)), "int (*x)[3]", "int (*)[3]"},
		{&btf.Const{Type: pointer(array(number, 3))}, "int (*const x)[3]", "int (*const)[3]"},
		{pointer(&btf.FuncProto{Return: pointer(char)}), "char *(*x)()", "char *(*)()"},
		{&btf.Typedef{Name: "size_t", Type: number}, "size_t x", "size_t"},
		{&btf.Struct{Name: "peer"}, "struct peer x", "struct peer"},
		{&btf.Struct{}, "struct {...} x", "struct {...}"},
		{&btf.Union{Name: "u"}, "union u x", "union u"},
		{&btf.Enum{Name: "e"}, "enum e x", "enum e"},
		{&btf.Fwd{Name: "later", Kind: btf.FwdStruct}, "struct later x", "struct later"},
		{&btf.Float{Name: "double", Size: 8}, "double x", "double"},
	} {
		if got := cdecl.Declare(tt.typ, "x"); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.typ, got, tt.want)
		}
		if got := cdecl.Declare(tt.typ, ""); got != tt.cast {
			t.Errorf("%v: got %q, want %q", tt.typ, got, tt.cast)
		}
	}
}

// TestKnot checks that a type that leads to itself can be declared.
func TestKnot(t *testing.T) {
	knot := &btf.Pointer{}
	knot.Target = &btf.Const{Type: knot}
	if got := cdecl.Declare(knot, "x"); !strings.HasPrefix(got, "void *const *const *") || len(got) > 1000 {
		t.Errorf("got %.100q of %d bytes", got, len(got))
	}
}
