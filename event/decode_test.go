package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// decoderOf returns a decoder of records of site 0.
func decoderOf(s *shape.Shape) decode.Decoder {
	probe := &reader.Probe{}
	return decode.NewDecoder(func(site uint32) (*shape.Shape, *reader.Probe) {
		if site > 0 {
			return nil, nil
		}
		return s, probe
	}, func(ns uint64) time.Time { return time.Unix(0, int64(ns)) })
}

// FuzzDecode decodes records that no program has written.
func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, 64), uint32(0))
	f.Add([]byte(strings.Repeat("\xff", 200)), uint32(5))
	block := record.Slot(2) + 8
	behind := block + 24 // the target of a pointer in the block
	sc := &shape.Shape{
		Layout: &record.Layout{Slots: 2, Block: 24, Limit: 16,
			Strings: []record.String{
				{Sized: true, Pointer: 0, Length: 16, Region: 2}, {Slot: 1}, {Sized: true, Pointer: 0, Length: 16, Elem: 3, Region: 2},
				{Sized: true, Pointer: 24, Length: 32, Region: 3}, {Sized: true, Pointer: 40, Length: 48, Region: 3},
			},
		},
		Fields: []shape.Field{
			{Name: "a", Source: shape.FromRecord, Kind: 2, Size: 4, Offset: record.Slot(0)},
			{Name: "b", Source: shape.FromString, Kind: 6, Index: 0},
			{Name: "c", Source: shape.FromString, Kind: 5, Index: 1},
			{Name: "d", Source: shape.FromRaw, Offset: block, Count: 24, Read: 2},
			{Name: "e", Source: shape.FromStruct, Read: 2, Parts: []shape.Field{
				{Name: "chars", Source: shape.FromChars, Kind: 5, Offset: block, Count: 8, Read: 2},
				{Name: "array", Source: shape.FromArray, Offset: block + 8, Count: 4, Stride: 4, Whole: 4, Read: 2,
					Parts: []shape.Field{{Source: shape.FromRecord, Kind: 4, Size: 4, Offset: block + 8, Read: 2}}},
			}},
			{Name: "slice", Source: shape.FromSlice, Index: 2, Stride: 3, Parts: []shape.Field{{Source: shape.FromRaw, Count: 3}}},
			{Name: "counted", Source: shape.FromCounted, Offset: behind, Length: block + 16, Counted: 2, Count: 2, Stride: 16, Strings: 1, Whole: 1, Read: 3,
				Parts: []shape.Field{{Source: shape.FromString, Kind: 5, Index: 3}}},
			{Name: "pointer", Source: shape.FromPointer, Offset: block + 8, Read: 2,
				Parts: []shape.Field{{Source: shape.FromRecord, Kind: 1, Size: 8, Offset: behind, Read: 3}}},
		},
	}
	sc.Layout.AddIndirect(record.Indirect{Pointer: 8, Size: 32, Length: 16, Elem: 16})
	f.Fuzz(func(t *testing.T, rec []byte, errors uint32) {
		d := decoderOf(sc)
		if len(rec) >= record.HeaderSize {
			rec[record.Failures] = byte(errors)
		}
		ev, err := d.Decode(rec)
		if err == nil && len(ev.Args) != len(sc.Fields) {
			t.Errorf("%d arguments, want %d", len(ev.Args), len(sc.Fields))
		}
		v, viewErr := d.View(rec)
		if (viewErr == nil) != (err == nil) {
			t.Errorf("error %v of a view, %v of the event", viewErr, err)
		} else if err != nil {
			return
		}
		for i := range v.Len() {
			got := v.Arg(i)
			if (got.Err == nil) != (ev.Args[i].Err == nil) && ev.Args[i].Name != "counted" {
				t.Errorf("%s: error %v in the view, %v in the event", v.Name(i), got.Err, ev.Args[i].Err)
			}
		}
		for _, path := range []string{"e.chars", "e.array[3]", "pointer", "counted[0]"} {
			v.Lookup(path)
		}
	})
}
