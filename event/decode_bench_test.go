package event_test

import (
	"encoding/binary"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// BenchmarkDecode decodes a record of three integers, a float and a text, without the
// ring buffer that it comes from: as an event, and as a view whose arguments are all
// read.
func BenchmarkDecode(b *testing.B) {
	sc := &shape.Shape{
		Layout: &record.Layout{Slots: 5, Strings: []record.String{{Slot: 4}}, Limit: 64},
		Fields: []shape.Field{
			{Name: "id", Source: shape.FromRecord, Kind: reader.Uint, Size: 8, Offset: record.Slot(0)},
			{Name: "code", Source: shape.FromRecord, Kind: reader.Int, Size: 4, Offset: record.Slot(1), Read: 1},
			{Name: "took", Source: shape.FromRecord, Kind: reader.Int, Meaning: reader.Duration, Size: 8, Offset: record.Slot(2), Read: 2},
			{Name: "load", Source: shape.FromRecord, Kind: reader.Float, Size: 8, Offset: record.Slot(3), Read: 3},
			{Name: "path", Source: shape.FromString, Kind: reader.String},
		},
	}
	const path = "/index.html"
	rec := make([]byte, record.Slot(5), record.Slot(5)+len(path))
	copy(rec[record.Comm:], "benchmark")
	for i, n := range []uint64{1 << 40, 404, 1_500_000, 0x3ff8_0000_0000_0000, uint64(len(path))} {
		binary.NativeEndian.PutUint64(rec[record.Slot(i):], n)
	}
	rec = append(rec, path...)
	d := decoderOf(sc)
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ev, err := d.Decode(rec); err != nil || ev.Args[4].Value != path {
				b.Fatal(ev, err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := d.View(rec)
			if err != nil {
				b.Fatal(err)
			}
			var sum uint64
			for i := range v.Len() {
				a := v.Arg(i)
				sum += a.Uint() + uint64(a.Int()) + uint64(len(a.Bytes()))
			}
			if want := uint64(1<<40+404+1_500_000) + uint64(len(path)); sum != want {
				b.Fatalf("the arguments come to %d, want %d", sum, want)
			}
		}
	})
}
