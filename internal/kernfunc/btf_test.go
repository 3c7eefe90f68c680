package kernfunc

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/reader"
)

// sample makes BTF by another encoder.
func sample(t testing.TB) []byte {
	nothing := &btf.Void{}
	integer := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	long := &btf.Int{Name: "long long", Size: 8, Encoding: btf.Signed}
	wide := &btf.Int{Name: "unsigned __int128", Size: 16}
	size := &btf.Typedef{Name: "size_t", Type: &btf.Int{Name: "unsigned long", Size: 8}}
	boolean := &btf.Typedef{Name: "bool", Type: &btf.Int{Name: "_Bool", Size: 1, Encoding: btf.Bool}}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
	u8 := &btf.Typedef{Name: "u8", Type: &btf.Int{Name: "unsigned char", Size: 1}}
	inner := &btf.Struct{Size: 8, Members: []btf.Member{
		{Name: "mode", Type: &btf.Int{Name: "unsigned int", Size: 4}, Offset: 3, BitfieldSize: 9},
		{Name: "level", Type: integer, Offset: 40, BitfieldSize: 5},
	}}
	file := &btf.Struct{Name: "file", Size: 64, Members: []btf.Member{
		{Name: "plain", Type: integer},
		{Name: "wide", Type: long, Offset: 64 + 7, BitfieldSize: 50},
		{Name: "sync", Type: boolean, Offset: 64 + 57, BitfieldSize: 1},
		{Name: "across", Type: integer, Offset: 128 + 30, BitfieldSize: 4},
		{Type: inner, Offset: 192},
	}}
	pair := &btf.Struct{Name: "pair", Size: 16}
	large := &btf.Struct{Name: "large", Size: 24}
	uid := &btf.Struct{Name: "kuid", Size: 4, Members: []btf.Member{{Name: "val", Type: &btf.Int{Name: "unsigned int", Size: 4}}}}
	owner := &btf.Typedef{Name: "owner_t", Type: &btf.Struct{Size: 4, Members: []btf.Member{{Name: "uid", Type: uid}}}}
	flags := &btf.Struct{Name: "flags", Size: 8, Members: []btf.Member{{Name: "words", Type: &btf.Array{Index: integer, Type: long, Nelems: 1}}}}
	part := &btf.Struct{Name: "part", Size: 4, Members: []btf.Member{{Name: "low", Type: integer, BitfieldSize: 4}}}
	padded := &btf.Struct{Name: "padded", Size: 8, Members: []btf.Member{{Name: "low", Type: integer}}}
	holder := &btf.Struct{Name: "holder", Size: 8, Members: []btf.Member{{Name: "p", Type: &btf.Pointer{Target: nothing}}}}
	how := &btf.Enum{Name: "how", Size: 4, Values: []btf.EnumValue{{Name: "READ", Value: 0}, {Name: "WRITE", Value: 1}}}
	fn := func(name string, result btf.Type, params ...btf.FuncParam) btf.Type {
		return &btf.Func{Name: name, Type: &btf.FuncProto{Return: result, Params: params}, Linkage: btf.StaticFunc}
	}
	text := &btf.Pointer{Target: &btf.Const{Type: char}}
	b, err := btf.NewBuilder([]btf.Type{
		fn("vfs_read", &btf.Typedef{Name: "ssize_t", Type: long},
			btf.FuncParam{Name: "file", Type: &btf.Pointer{Target: file}}, btf.FuncParam{Name: "buf", Type: text},
			btf.FuncParam{Name: "count", Type: size}, btf.FuncParam{Name: "pos", Type: &btf.Pointer{Target: long}}),
		fn("mixed", nothing,
			btf.FuncParam{Name: "how", Type: how}, btf.FuncParam{Name: "sync", Type: boolean}, btf.FuncParam{Name: "both", Type: pair},
			btf.FuncParam{Name: "all", Type: large}, btf.FuncParam{Name: "bytes", Type: &btf.Pointer{Target: u8}},
			btf.FuncParam{Name: "n", Type: integer}, btf.FuncParam{Name: "wide", Type: wide}, btf.FuncParam{Name: "last", Type: size}),
		fn("owned", owner,
			btf.FuncParam{Name: "uid", Type: uid}, btf.FuncParam{Name: "owner", Type: owner}, btf.FuncParam{Name: "flags", Type: flags},
			btf.FuncParam{Name: "part", Type: part}, btf.FuncParam{Name: "padded", Type: padded}, btf.FuncParam{Name: "holder", Type: holder},
			btf.FuncParam{Name: "last", Type: flags}),
		fn("init_once", nothing, btf.FuncParam{Name: "a", Type: integer}),
		fn("init_once", nothing, btf.FuncParam{Name: "b", Type: long}),
		fn("printk", integer, btf.FuncParam{Name: "format", Type: text}, btf.FuncParam{Type: nothing}),
		fn("by_value", &btf.Typedef{Name: "pair_t", Type: pair}),
		fn("callback", nothing, btf.FuncParam{Name: "fn", Type: &btf.Pointer{Target: &btf.FuncProto{Return: nothing}}}, btf.FuncParam{Name: "names", Type: &btf.Pointer{Target: text}}),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPrototype checks names, types and places of arguments.
func TestPrototype(t *testing.T) {
	types, err := readTypes(sample(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want   string
		amd64, arm64 []string
		results      [2]string
	}{
		{"vfs_read", "ssize_t vfs_read(struct file *file, const char *buf, size_t count, long long *pos)",
			[]string{"8@%rdi", "8@%rsi", "8@%rdx", "8@%rcx"}, []string{"8@x0", "8@x1", "8@x2", "8@x3"}, [2]string{"-8@%rax", "-8@x0"}},
		{"mixed", "void mixed(enum how how, bool sync, struct pair both, struct large all, u8 *bytes, int n, unsigned __int128 wide, size_t last)",
			[]string{"4@%rdi", "1@%rsi", "", "", "8@%r8", "-4@%r9", "", "8@48(%rsp)"},
			[]string{"4@x0", "1@x1", "", "", "8@x5", "-4@x6", "", "8@[sp, 16]"}, [2]string{}},
		{"owned", "owner_t owned(struct kuid uid, owner_t owner, struct flags flags, struct part part, struct padded padded, struct holder holder, struct flags last)",
			[]string{"4@%rdi", "4@%rsi", "-8@%rdx", "", "", "", "-8@8(%rsp)"}, []string{"4@x0", "4@x1", "-8@x2", "", "", "", "-8@x6"}, [2]string{"4@%rax", "4@x0"}},
		{"printk", "int printk(const char *format, ...)", []string{"8@%rdi"}, []string{"8@x0"}, [2]string{"-4@%rax", "-4@x0"}},
		{"callback", "void callback(void *fn, const char **names)", []string{"8@%rdi", "8@%rsi"}, []string{"8@x0", "8@x1"}, [2]string{}},
	} {
		p, err := types.prototype(func(yield func(string) bool) { _ = yield("other") && yield(c.name) })
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := p.String(c.name); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if diff := cmp.Diff([][]string{c.amd64, c.arm64}, [][]string{p.Places("amd64"), p.Places("arm64")}); diff != "" {
			t.Errorf("%s: places (-want +got):\n%s", c.name, diff)
		}
		if got := [2]string{p.ResultPlace("amd64"), p.ResultPlace("arm64")}; got != c.results {
			t.Errorf("%s: results %q, want %q", c.name, got, c.results)
		}
	}
	checkSaved(t, types)
	p, err := types.prototype(slices.Values([]string{"mixed"}))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, a := range p.Params {
		kinds = append(kinds, a.Kind)
	}
	if diff := cmp.Diff([]Kind{Enum, Bool, Other, Other, Pointer, Int, Other, Int}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Value{{Name: "READ"}, {Name: "WRITE", Value: 1}}, p.Params[0].Values); diff != "" || p.Params[0].Enum != "how" {
		t.Errorf("enum %s (-want +got):\n%s", p.Params[0].Enum, diff)
	}
	if _, err := types.prototype(slices.Values([]string{"init_once"})); !errors.Is(err, errSeveral) {
		t.Errorf("init_once: %v, want %v", err, errSeveral)
	}
	if _, err := types.prototype(slices.Values([]string{"nothing"})); !errors.Is(err, ErrNoTypes) {
		t.Errorf("nothing: %v, want %v", err, ErrNoTypes)
	}
}

// checkSaved checks in which words a trampoline saves arguments, and the result at the return.
func checkSaved(t *testing.T, types *types) {
	t.Helper()
	p, err := types.prototype(slices.Values([]string{"mixed"}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Type != "mixed" || p.ID == 0 {
		t.Errorf("it is %q, number %d", p.Type, p.ID)
	}
	want := [][]string{
		{"4@%rdi", "1@%rsi", "", "", "8@%r11", "-4@%r12", "", ""},
		{"4@x0", "1@x1", "", "", "8@x7", "-4@x8", "", ""},
	}
	if diff := cmp.Diff(want, [][]string{p.Saved("amd64"), p.Saved("arm64")}); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if p, err = types.prototype(slices.Values([]string{"vfs_read"})); err != nil {
		t.Fatal(err)
	}
	if got := [2]string{p.savedResult("amd64"), p.savedResult("arm64")}; got != [2]string{"-8@%rax", "-8@x10"} {
		t.Errorf("results %q", got)
	}
}

// TestRunningKernel compares prototypes of the running kernel with the ones that another decoder
// finds.
func TestRunningKernel(t *testing.T) {
	b, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		needs.Skip(t, "needs the types of the kernel: %v", err)
	}
	types, err := readTypes(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, id := range types.functions {
		if id == 0 || compared >= 2000 || strings.Contains(name, "___") { // a flavour, to cilium/ebpf
			continue
		}
		var fn *btf.Func
		if err := spec.TypeByName(name, &fn); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		compared++
		p, err := types.proto(id)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := fn.Type.(*btf.FuncProto)
		for i, a := range want.Params {
			if _, void := btf.UnderlyingType(a.Type).(*btf.Void); void {
				if !p.More {
					t.Errorf("%s has no more arguments", name)
				}
				continue
			}
			size, err := btf.Sizeof(a.Type)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if i >= len(p.Params) || a.Name != "" && p.Params[i].Name != a.Name || p.Params[i].Size != size {
				t.Errorf("%s: argument %d is %s of %d bytes, got %+v", name, i, a.Name, size, p.Params)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("%d functions were compared", compared)
	}
}

// TestBitFields checks where bit fields are, in structures with and without a name.
func TestBitFields(t *testing.T) {
	types, err := readTypes(sample(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{types: &typeFiles{read: map[string]typeFile{Kernel: {types: types}}}}
	proto, err := table.Prototype(&Function{Name: "vfs_read", Module: Kernel})
	if err != nil {
		t.Fatal(err)
	}
	file := describe(&proto.Params[0])
	for path, want := range map[string]Member{
		"file.plain": {Steps: []int64{0}, KernelParam: reader.KernelParam{Size: 4, Signed: true}},
		"file.wide":  {Steps: []int64{8}, Bits: 50, BitsAbove: 7, KernelParam: reader.KernelParam{Size: 8, Signed: true}},
		"file.sync":  {Steps: []int64{15}, Bits: 1, BitsAbove: 1, KernelParam: reader.KernelParam{Size: 1}},
		"file.mode":  {Steps: []int64{24}, Bits: 9, BitsAbove: 3, KernelParam: reader.KernelParam{Size: 4}},
		"file.level": {Steps: []int64{28}, Bits: 5, BitsAbove: 8, KernelParam: reader.KernelParam{Size: 4, Signed: true}},
	} {
		m, err := table.Member(Kernel, &file, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !slices.Equal(m.Steps, want.Steps) || m.Bits != want.Bits || m.BitsAbove != want.BitsAbove || m.Size != want.Size || m.Signed != want.Signed {
			t.Errorf("%s: %+v, want %+v", path, m, want)
		}
	}
	if _, err := table.Member(Kernel, &file, "file.across"); err == nil || !strings.Contains(err.Error(), "in two words of its type") {
		t.Errorf("file.across: error %v", err)
	}
}

// FuzzTypes checks that no BTF is too strange.
func FuzzTypes(f *testing.F) {
	whole := sample(f)
	f.Add(whole, []byte(nil))
	f.Add(whole, whole)
	f.Fuzz(func(t *testing.T, base, module []byte) {
		types, err := readTypes(base, nil)
		if err != nil {
			return
		}
		if len(module) > 0 {
			if more, err := readTypes(module, types); err == nil {
				types = more
			}
		}
		for name := range types.functions {
			p, err := types.prototype(slices.Values([]string{name}))
			if err != nil {
				continue
			}
			for i := range p.Params {
				(&Types{types}).Behind(&p.Params[i])
			}
			if s := p.String(name); !strings.Contains(s, name) || len(p.Places("amd64")) != len(p.Params) {
				t.Errorf("%q of %q", s, name)
			}
		}
	})
}

// TestTrampolines checks which functions are known to have no trampoline before the kernel is asked.
func TestTrampolines(t *testing.T) {
	types, err := readTypes(sample(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{types: &typeFiles{read: map[string]typeFile{Kernel: {types: types}}}}
	for _, tt := range []struct {
		name   string
		copies int
		want   bool
	}{{"vfs_read", 1, true}, {"vfs_read", 2, false}, {"printk", 1, false}, {"by_value", 1, false}, {"init_once", 1, false}, {"unknown", 1, false}} {
		p := table.Probe(&Function{Name: tt.name, Module: Kernel, Copies: tt.copies}, reader.Fentry, tt.name)
		if err := p.Kernel.Types().NoTrampoline; (err == nil) != tt.want {
			t.Errorf("%s, of %d: %v, want a trampoline: %v", tt.name, tt.copies, err, tt.want)
		}
	}
}
