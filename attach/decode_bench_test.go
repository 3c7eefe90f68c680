package attach

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkDecode decodes a record of three integers, a float and a text, without
// the ring buffer that it comes from: as an event, and as a view of which every
// argument is looked at.
func BenchmarkDecode(b *testing.B) {
	sc := &schema{
		sig: &signature{Layout: record.Layout{Slots: 5, Strings: []record.String{{Slot: 4}}}, operands: make([]operand.Operand, 5), maxString: 64},
		fields: []field{
			{name: "id", source: fromRecord, kind: reader.Uint, size: 8, offset: record.Slot(0)},
			{name: "code", source: fromRecord, kind: reader.Int, size: 4, offset: record.Slot(1), read: 1},
			{name: "took", source: fromRecord, kind: reader.Int, meaning: reader.Duration, size: 8, offset: record.Slot(2), read: 2},
			{name: "load", source: fromRecord, kind: reader.Float, size: 8, offset: record.Slot(3), read: 3},
			{name: "path", source: fromString, kind: reader.String},
		},
	}
	const path = "/index.html"
	rec := make([]byte, record.Slot(5), record.Slot(5)+len(path))
	copy(rec[record.Comm:], "benchmark")
	for i, n := range []uint64{1 << 40, 404, 1_500_000, 0x3ff8_0000_0000_0000, uint64(len(path))} {
		binary.NativeEndian.PutUint64(rec[record.Slot(i):], n)
	}
	rec = append(rec, path...)
	var sites atomic.Pointer[siteTable]
	sites.Store(sites.Load().with(Plan{{}}, []*schema{sc}, []int{0}))
	d := newDecoder(&sites, clock{measure: func() clockSample { return clockSample{at: 1 << 62} }})
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ev, err := d.decode(rec); err != nil || ev.Args[4].Value != path {
				b.Fatal(ev, err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		v := View{decoder: d}
		for b.Loop() {
			if err := v.set(rec); err != nil {
				b.Fatal(err)
			}
			var sum uint64
			for i := range v.Len() {
				a := v.Arg(i)
				sum += a.Uint() + uint64(a.Int()) + uint64(len(a.Bytes()))
			}
			if want := uint64(1<<40 + 404 + 1_500_000 + len(path)); sum != want {
				b.Fatalf("the arguments come to %d, want %d", sum, want)
			}
		}
	})
}
