//go:build linux

package provider_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/provider"
)

type status uint16

type peer struct {
	Host string
	Port uint16
	Next *peer
}

type request struct {
	ID       uint64
	Status   status `usdt:"status"`
	_        [2]byte
	Path     string
	Body     []byte
	Peer     peer
	Scores   [3]float32
	Upstream *peer
	Secret   int32 `usdt:"-"`
	retries  int8  `usdt:"retries"`
	Tags     []string
}

// noteArgs returns the argument strings of p's probes by name.
func noteArgs(t *testing.T, p *provider.Provider) map[string]string {
	t.Helper()
	args := map[string]string{}
	for _, object := range objects(t, p) {
		f, err := elf.NewFile(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.Section(notes.SectionName).Data()
		if err != nil {
			t.Fatal(err)
		}
		for n, err := range notes.All(data, f.ByteOrder, notes.Class(f.Class)) {
			if err != nil {
				t.Fatal(err)
			}
			args[n.Name] = n.Args
		}
	}
	return args
}

func TestRecordNote(t *testing.T) {
	p := newProvider("rec")
	provider.NewStructProbe[request](p, "request")
	provider.NewStructProbe[struct{}](p, "empty")
	load(t, p)
	got := noteArgs(t, p)
	var r request
	at := func(size string, off uintptr) string {
		if runtime.GOARCH == "arm64" {
			return strings.ReplaceAll(fmt.Sprintf("%s@[x8, %d]", size, off), ", 0]", "]")
		}
		return strings.Replace(fmt.Sprintf("%s@%d(%%rax)", size, off), "@0(", "@(", 1)
	}
	want := strings.Join([]string{
		at("8", unsafe.Offsetof(r.ID)),
		at("2", unsafe.Offsetof(r.Status)),
		at("8", unsafe.Offsetof(r.Path)), at("8", unsafe.Offsetof(r.Path)+8),
		at("8", unsafe.Offsetof(r.Body)), at("8", unsafe.Offsetof(r.Body)+8),
		at("8", unsafe.Offsetof(r.Peer)), at("8", unsafe.Offsetof(r.Peer)+8),
		at("2", unsafe.Offsetof(r.Peer)+unsafe.Offsetof(r.Peer.Port)),
		at("8", unsafe.Offsetof(r.Peer)+unsafe.Offsetof(r.Peer.Next)),
		at("8", unsafe.Offsetof(r.Upstream)),
		at("-1", unsafe.Offsetof(r.retries)),
	}, " ")
	if got["request"] != want {
		t.Errorf("arguments:\n got %s\nwant %s", got["request"], want)
	}
	if got["empty"] != "" {
		t.Errorf("a struct without fields has arguments %q", got["empty"])
	}
}

func TestRecordTypes(t *testing.T) {
	p := newProvider("rec")
	provider.NewStructProbe[request](p, "request")
	load(t, p)
	f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.Section(".BTF").Data()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var s *btf.Struct
	if err := spec.TypeByName("usdt_args_0", &s); err != nil {
		t.Fatal(err)
	}
	if s.Size != uint32(unsafe.Sizeof(request{})) {
		t.Errorf("size %d, want %d", s.Size, unsafe.Sizeof(request{}))
	}
	var names []string
	for _, m := range s.Members {
		names = append(names, fmt.Sprintf("%s@%d", m.Name, m.Offset.Bytes()))
	}
	var r request
	want := fmt.Sprintf("[ID@0 status@8 Path@%d __Path_len@%d Body@%d __Body_len@%d Peer@%d Scores@%d Upstream@%d retries@%d Tags@%d __Tags_len@%d]",
		unsafe.Offsetof(r.Path), unsafe.Offsetof(r.Path)+8, unsafe.Offsetof(r.Body), unsafe.Offsetof(r.Body)+8,
		unsafe.Offsetof(r.Peer), unsafe.Offsetof(r.Scores), unsafe.Offsetof(r.Upstream), unsafe.Offsetof(r.retries),
		unsafe.Offsetof(r.Tags), unsafe.Offsetof(r.Tags)+8)
	if fmt.Sprint(names) != want {
		t.Errorf("members:\n got %v\nwant %v", names, want)
	}
	upstream, ok := s.Members[8].Type.(*btf.Pointer)
	if !ok {
		t.Fatalf("Upstream is a %T, want a pointer", s.Members[8].Type)
	}
	if target, ok := upstream.Target.(*btf.Struct); !ok || target.Name != "peer" {
		t.Errorf("Upstream points to %v, want struct peer", upstream.Target)
	} else if next, ok := target.Members[3].Type.(*btf.Pointer); !ok {
		t.Errorf("Upstream.Next is %v, want a pointer", target.Members[3].Type)
	} else if next.Target != upstream.Target {
		t.Errorf("Upstream.Next points to %v, want the same struct peer", next.Target)
	}
}

func TestRecordRefused(t *testing.T) {
	for _, tt := range []struct {
		declare func(*provider.Provider)
		want    string
	}{
		{func(p *provider.Provider) { provider.NewStructProbe[int](p, "a") }, "record int: is not a struct type"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ M map[string]int }](p, "a") }, "field M: tracers cannot read values of kind map"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ C chan int }](p, "a") }, "field C: tracers cannot read values of kind chan"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ F func() }](p, "a") }, "field F: tracers cannot read values of kind func"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ I any }](p, "a") }, "field I: tracers cannot read values of kind interface: make the field a provider.Text"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ A provider.IP }](p, "a") }, "field A: a provider.IP is for arguments: make the field a netip.Addr"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ C complex128 }](p, "a") }, "field C: tracers cannot read values of kind complex128"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ A struct{ B [2]map[int]int } }](p, "a") }, "field A: field B: tracers cannot read values of kind map"},
		{func(p *provider.Provider) {
			provider.NewStructProbe[struct {
				X int `usdt:"a-b"`
			}](p, "a")
		}, `argument name "a-b" is not a C identifier`},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ E error }](p, "a") }, "set by provider.Error, or leave it out"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ M map[string]int }](p, "a") }, "set by provider.As, or leave it out"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ S fmt.Stringer }](p, "a") }, "set by provider.Error, Stringer or As, or leave it out"},
		{func(p *provider.Provider) { provider.NewStructProbe[struct{ a, b int }](p, "a") }, "has no exported fields: export some"},
		{func(p *provider.Provider) {
			provider.NewStructProbe[struct {
				B []byte `usdt:",base64"`
			}](p, "a")
		}, `field B: tag ",base64": behind the comma stands text, hex or bytes`},
		{func(p *provider.Provider) {
			provider.NewStructProbe[struct {
				N int `usdt:"n,hex"`
			}](p, "a")
		}, `field N: tag "n,hex": hex is for bytes, and the field is of type int`},
		{func(p *provider.Provider) {
			provider.NewStructProbe[struct {
				X int
				Y int `usdt:"X"`
			}](p, "a")
		}, `argument name "X" is used twice`},
	} {
		p := newProvider("rec")
		tt.declare(p)
		if err := p.Load(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
}

func TestRecordFire(t *testing.T) {
	p := newProvider("rec")
	rec := provider.NewStructProbe[request](p, "request")
	load(t, p)
	provider.Watch(p, 1)
	fire := func() {
		r := request{ID: 1, Path: "/x"} // stays on the stack
		rec.Fire(&r)
	}
	fire()
	rec.Fire(nil)
	if n := testing.AllocsPerRun(100, fire); n != 0 {
		t.Errorf("watched: %v allocations, want 0", n)
	}
}

func TestGroup(t *testing.T) {
	p := newProvider("grouped")
	g := p.Group("io")
	if g != p.Group("io") || g == p.Group("other") {
		t.Error("Group does not tell groups apart by name")
	}
	a := provider.NewProbe0(g, "a")
	b := provider.NewProbe1[int](g, "b", "x")
	alone := provider.NewProbe0(p, "alone")
	load(t, p)
	provider.NewProbe0(g, "late")
	load(t, p)
	if g.Enabled() {
		t.Error("group is enabled though nobody watches")
	}
	provider.WatchOne(p, "a", 1)
	if !g.Enabled() || !a.Enabled() || !b.Enabled() || alone.Enabled() {
		t.Errorf("with a watched: group %v, a %v, b %v, alone %v; want all but alone", g.Enabled(), a.Enabled(), b.Enabled(), alone.Enabled())
	}
	a.Fire()
	b.Fire(1)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if g.Enabled() {
		t.Error("group is enabled after Close")
	}
}

// TestRecordsAreToldApart checks that records of different types never share a
// description.
func TestRecordsAreToldApart(t *testing.T) {
	p := newProvider("apart")
	provider.NewStructProbe[struct{ F []int64 }](p, "slice")
	provider.NewStructProbe[struct {
		F *int64
		_ [2]int64
	}](p, "pointer")
	provider.NewStructProbe[struct{ F **int64 }](p, "pointers")
	provider.NewStructProbe[struct{ F *[]int64 }](p, "slices")
	load(t, p)
	args := noteArgs(t, p)
	if args["slice"] == args["pointer"] {
		t.Errorf("a slice and a pointer are both noted as %q", args["slice"])
	}
	f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.Section(".BTF").Data()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(raw, []byte("usdt_args_")); n != 4 {
		t.Errorf("four types have %d descriptions", n)
	}
}

// TestNamesBehindPointers checks that a type behind a pointer that cannot be named is
// shown as bytes and spoils nothing else.
func TestNamesBehindPointers(t *testing.T) {
	type union struct{ A int }
	p := newProvider("names")
	provider.NewStructProbe[struct {
		P *struct {
			X int `usdt:"a\x00b"`
		}
		Q *struct {
			X int `usdt:"x; int evil"`
		}
		R []union
	}](p, "a")
	load(t, p)
	f, err := elf.NewFile(bytes.NewReader(objects(t, p)[0]))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.Section(".BTF").Data()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"evil", "a\x00b\x00", "union\x00"} {
		if bytes.Contains(raw, []byte(bad)) {
			t.Errorf("the types contain %q", bad)
		}
	}
}

func TestHugeRecord(t *testing.T) {
	_, err := provider.DescribeRecord(reflect.TypeFor[struct {
		A [600 << 20]byte
		B int64
	}]())
	if err == nil || !strings.Contains(err.Error(), "has 629145608 bytes, and tracers read at most 15360") {
		t.Errorf("got %v, want an error about its size", err)
	}
}

// TestUnreadableRecords checks that Load refuses records that tracers cannot read and
// accepts records that they just can.
func TestUnreadableRecords(t *testing.T) {
	nested := func(levels int) reflect.Type {
		typ := reflect.TypeFor[int32]()
		for range levels {
			typ = reflect.StructOf([]reflect.StructField{{Name: "F", Type: typ}})
		}
		return typ
	}
	fields := func(n int) reflect.Type {
		var all []reflect.StructField
		for i := range n {
			all = append(all, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[uint8]()})
		}
		return reflect.StructOf(all)
	}
	for _, test := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ A [notes.MaxBlockSize]byte }](), ""},
		{reflect.TypeFor[struct{ A [notes.MaxBlockSize + 1]byte }](), "bytes, and tracers read at most"},
		{fields(notes.MaxFields), ""},
		{fields(notes.MaxFields + 1), "fields, and tracers read at most"},
		{nested(notes.MaxNesting + 1), ""},
		{nested(notes.MaxNesting + 2), "deep in each other"},
	} {
		_, err := provider.DescribeRecord(test.typ)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("a record of %d bytes: error %v, want %q", test.typ.Size(), err, test.want)
		}
	}
}

// TestHugeReferences checks that what lies behind a pointer and is too large for BTF
// is described as bytes: BTF counts offsets in bits, in 32 bits.
func TestHugeReferences(t *testing.T) {
	type huge struct {
		A [600 << 20]byte
		B int32
	}
	s, err := provider.DescribeRecord(reflect.TypeFor[struct {
		Struct *huge
		Array  *[2]huge
	}]())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Members {
		a, ok := m.Type.(*btf.Pointer).Target.(*btf.Array)
		if !ok || a.Nelems != 64<<20 {
			t.Errorf("%s points to %v, want to 64 MiB", m.Name, m.Type.(*btf.Pointer).Target)
			continue
		}
		if size, err := btf.Sizeof(a.Type); err != nil || size != 1 {
			t.Errorf("%s points to an array of %v, want bytes", m.Name, a.Type)
		}
	}
}

// TestReferencesEnd checks that types which refer to very many others, or to
// themselves without a struct in between, are described up to a limit.
func TestReferencesEnd(t *testing.T) {
	type slices []slices
	type pointers *pointers
	type wide struct {
		A *struct{ X [1]*struct{ X [1]*slices } }
		B [2]slices
		C pointers
	}
	var fields []reflect.StructField
	for i := range 100 {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: reflect.PointerTo(reflect.StructOf([]reflect.StructField{{Name: "X", Type: reflect.ArrayOf(i+1, reflect.TypeFor[int64]())}})),
		})
	}
	if _, err := provider.DescribeRecord(reflect.TypeFor[wide]()); err != nil {
		t.Error(err)
	}
	many, err := provider.DescribeRecord(reflect.StructOf(fields))
	if err != nil {
		t.Fatal(err)
	}
	structs := 0
	for _, m := range many.Members {
		if _, ok := m.Type.(*btf.Pointer).Target.(*btf.Struct); ok {
			structs++
		}
	}
	if structs != 64 {
		t.Errorf("%d structs are described, want 64", structs)
	}
}
