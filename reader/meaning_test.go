package reader_test

import (
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// TestMeanings checks that typedefs give a meaning only to values of types that can
// have it, and that unknown typedefs are ignored.
func TestMeanings(t *testing.T) {
	long := &btf.Int{Name: "long long", Size: 8, Encoding: btf.Signed}
	unsigned := &btf.Int{Name: "unsigned long long", Size: 8}
	short := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	bytes := &btf.Pointer{Target: &btf.Const{Type: &btf.Int{Name: "unsigned char", Size: 1}}}
	named := func(name string, typ btf.Type) *btf.Typedef { return &btf.Typedef{Name: name, Type: typ} }
	for _, test := range []struct {
		name string
		typ  btf.Type
		want reader.Meaning
		kind reader.FieldKind
	}{
		{"duration", named(notes.DurationType, long), reader.Duration, reader.Int},
		{"time", named(notes.TimeType, long), reader.Time, reader.Int},
		{"address", named(notes.AddrType, bytes), reader.Address, reader.Bytes},
		{"another's name for it", named("duration_t", &btf.Const{Type: named(notes.DurationType, long)}), reader.Duration, reader.Int},
		{"unknown", named("pid_t", short), reader.Plain, reader.Int},
		{"unknown bytes", named("blob", bytes), reader.Plain, reader.Bytes},
		{"short time", named(notes.TimeType, short), reader.Plain, reader.Int},
		{"unsigned duration", named(notes.DurationType, unsigned), reader.Plain, reader.Uint},
		{"address that is a number", named(notes.AddrType, long), reader.Plain, reader.Int},
		{"bytes that are a time", named(notes.TimeType, bytes), reader.Plain, reader.Bytes},
	} {
		fields := reader.Fields(&btf.Struct{Size: 16, Members: []btf.Member{
			{Name: "v", Type: test.typ},
			{Name: "__v_len", Type: unsigned, Offset: 64},
		}})
		if len(fields) != 1 || fields[0].Meaning != test.want || fields[0].Kind != test.kind {
			t.Errorf("%s: got %+v, want meaning %v of kind %v", test.name, fields, test.want, test.kind)
		}
	}
}
