package event_test

import (
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// everything returns the type of a probe with text, a slice of structs that have
// text, an array, an address, and pointers: all that fits into 120 bytes.
func everything() *reader.Type {
	u64 := &btf.Int{Name: "unsigned long", Size: 8}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Char}
	text := func(name string, at btf.Bits) []btf.Member {
		return []btf.Member{{Name: name, Type: &btf.Pointer{Target: char}, Offset: at}, {Name: "__" + name + "_len", Type: u64, Offset: at + 64}}
	}
	node := &btf.Struct{Name: "node", Size: 24}
	node.Members = append(text("host", 0), btf.Member{Name: "next", Type: &btf.Pointer{Target: node}, Offset: 128})
	st := &btf.Struct{Size: 120, Members: append(text("path", 0),
		btf.Member{Name: "nodes", Type: &btf.Pointer{Target: node}, Offset: 128}, btf.Member{Name: "__nodes_len", Type: u64, Offset: 192},
		btf.Member{Name: "pair", Type: &btf.Array{Type: u64, Nelems: 2, Index: u64}, Offset: 256},
		btf.Member{Name: "first", Type: &btf.Pointer{Target: node}, Offset: 384},
		btf.Member{Name: "sizes", Type: &btf.Pointer{Target: u64}, Offset: 448}, btf.Member{Name: "__sizes_len", Type: u64, Offset: 512},
		btf.Member{Name: "from", Type: &btf.Typedef{Name: notes.GoAddrType, Type: &btf.Array{Type: u64, Nelems: 3, Index: u64}}, Offset: 576},
		btf.Member{Name: "at", Type: &btf.Typedef{Name: notes.GoTimeType, Type: &btf.Array{Type: u64, Nelems: 3, Index: u64}}, Offset: 768},
	)}
	return &reader.Type{Struct: st, Fields: reader.Fields(st), Record: notes.TypeRecord{BlockSize: 120, Flags: notes.IPv4Register}}
}

// FuzzCapture captures argument blocks of any bytes, whose pointers lead to any bytes
// or to nothing, and decodes the records.
func FuzzCapture(f *testing.F) {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	var ones []byte
	for range 15 {
		ones = append(ones, one...)
	}
	f.Add(ones, one, uint8(8))
	f.Add(ones[:100], []byte{}, uint8(0))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\xff\xff\xff\xff\xff\xff\xff\xff"), uint8(255))
	f.Fuzz(func(t *testing.T, block, memory []byte, limit uint8) {
		s, err := shape.OfBlock(everything(), int(limit), func(string) (exact, ok bool) { return false, true })
		if err != nil {
			t.Fatal(err)
		}
		rec := s.Layout.Capture(nil, &record.Header{}, []uint64{1}, block, func(address uint64, b []byte) bool {
			if address%2 == 0 {
				return false
			}
			for len(b) > 0 && len(memory) > 0 {
				b = b[copy(b, memory):]
			}
			return true
		})
		if most := s.Layout.FixedSize() + len(s.Layout.Strings)*int(limit); len(rec) > most {
			t.Errorf("a record of %d bytes, want at most %d", len(rec), most)
		}
		d := decoderOf(s)
		ev, err := d.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		v, err := d.View(rec)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range ev.Args {
			got := v.Arg(i)
			if _, err := got.Any(); a.Value != nil && got.Kind == 0 || a.Name != "nodes" && (a.Err == nil) != (err == nil) {
				t.Errorf("%s is %v (%v), in a view %+v", a.Name, a.Value, a.Err, got)
			}
		}
	})
}
