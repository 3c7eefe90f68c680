package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// connection returns the type of a probe with a number, an array, and a pointer to a
// struct that has text and points to another struct.
func connection() *reader.Type {
	u32 := &btf.Int{Name: "unsigned int", Size: 4}
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	peer := &btf.Struct{Name: "peer", Size: 32}
	peer.Members = []btf.Member{
		{Name: "host", Type: &btf.Pointer{Target: char}}, {Name: "__host_len", Type: u64, Offset: 64},
		{Name: "port", Type: u32, Offset: 128}, {Name: "next", Type: &btf.Pointer{Target: peer}, Offset: 192},
	}
	st := &btf.Struct{Size: 24, Members: []btf.Member{
		{Name: "id", Type: u64}, {Name: "peer", Type: &btf.Pointer{Target: peer}, Offset: 64},
		{Name: "ports", Type: &btf.Array{Type: u32, Nelems: 2, Index: u32}, Offset: 128},
	}}
	return &reader.Type{Struct: st, Fields: reader.Fields(st), Record: notes.TypeRecord{BlockSize: 24}}
}

// following returns a Follow of pointers by their names.
func following(names ...string) shape.Follow {
	return func(path string) (exact, ok bool) {
		ok = slices.Contains(names, path)
		return ok, ok
	}
}

// TestResolve checks that fields are found by their paths, also behind followed
// pointers, and that lookups change nothing.
func TestResolve(t *testing.T) {
	const block = record.HeaderSize + 8
	for _, test := range []struct {
		follow string // of pointers
		path   string
		want   string // source, offset and index of a string; or the error
	}{
		{"", "id", fmt.Sprint(shape.FromRecord, block, 0)},
		{"", "arg0", fmt.Sprint(shape.FromRecord, block, 0)},
		{"", "ports[1]", fmt.Sprint(shape.FromRecord, block+20, 0)},
		{"", "ports[2]", "ports has 2 elements"},
		{"", "ports.x", "ports has no fields"},
		{"", "port", "it has id, peer, ports, pid, tid, comm, cpu, uid, cgroup, container, pod; the nearest is ports"},
		{"", "peer", fmt.Sprint(shape.FromRecord, block+8, 0)},
		{"", "peer.port", "peer has no fields"},
		{"peer", "peer.port", fmt.Sprint(shape.FromRecord, block+24+16, 0)},
		{"peer", "arg1.port", fmt.Sprint(shape.FromRecord, block+24+16, 0)},
		{"peer", "peer.host", fmt.Sprint(shape.FromString, block+24, 0)},
		{"peer", "peer.next.port", "peer.next has no fields"},
		{"peer.next", "peer.next.port", "peer has no fields"},
		{"peer peer.next", "peer.next.host", fmt.Sprint(shape.FromString, block+24+32, 1)},
		{"peer peer.next", "peer.name", "peer has host, port, next"},
	} {
		s, err := shape.OfBlock(connection(), 64, following(strings.Fields(test.follow)...))
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%+v %+v", s.Fields, s.Layout)
		var got string
		if f, err := s.Resolve(test.path); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(f.Source, f.Offset, f.Index)
		}
		if got != test.want {
			t.Errorf("following %q, %s is %q, want %q", test.follow, test.path, got, test.want)
		}
		if after := fmt.Sprintf("%+v %+v", s.Fields, s.Layout); after != before {
			t.Errorf("following %q, looking for %s made %s of %s", test.follow, test.path, after, before)
		}
	}
}

// TestPointers checks which pointers must be followed for a path.
func TestPointers(t *testing.T) {
	fields := connection().Fields
	for path, want := range map[string]string{
		"peer": "[]", "peer.port": "[peer]", "peer.next.port": "[peer peer.next]", "arg1.port": "[peer]", "ports[1]": "[ports]",
		"arg9.port": "[arg9]", "peer.ports[0].x": "[peer peer.ports peer.ports[0]]",
	} {
		if got := fmt.Sprint(shape.Pointers(path, fields)); got != want {
			t.Errorf("%s passes through %s, want %s", path, got, want)
		}
	}
}

// TestBlocks checks which argument blocks have no shape.
func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		record notes.TypeRecord
		want   string
	}{
		{notes.TypeRecord{BlockSize: 24, BlockReg: notes.NoBlock}, "the object does not say where the argument block is"},
		{notes.TypeRecord{}, "an argument block of 0 bytes is not between 1 and 15360"},
		{notes.TypeRecord{BlockSize: notes.MaxBlockSize + 1}, "an argument block of 15361 bytes is not between 1 and 15360"},
	} {
		typ := connection()
		typ.Record = test.record
		if _, err := shape.OfBlock(typ, 64, nil); err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v, want %s", test.record, err, test.want)
		}
	}
	if s, err := shape.OfBlock(&reader.Type{Record: notes.TypeRecord{BlockReg: notes.NoBlock}}, 64, nil); err != nil || s.Layout.FixedSize() != record.HeaderSize {
		t.Errorf("without arguments there is %+v, %v", s, err)
	}
	typ := connection()
	typ.Record.Flags = notes.IPv4Register
	if s, err := shape.OfBlock(typ, 64, nil); err != nil || !s.IPv4 || s.Fields[0].Offset != record.Slot(1)+8 {
		t.Errorf("with a slot there is %+v, %v", s, err)
	}
}
