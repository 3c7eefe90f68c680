package notes

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/turns"
)

// sampleRecords returns records ordered by location.
func sampleRecords() []TypeRecord {
	return []TypeRecord{
		{
			Provider: "myapp", Name: "request_done",
			Location: 0x1000, Semaphore: 0x3004,
			Type: 7, BlockSize: 48, BlockReg: 0, BlockOffset: 0,
			Flags: CalledStub, Site: SiteNop5,
		},
		{
			Provider: "myapp", Name: "idle",
			Location: 0x1008, Semaphore: 0x3008,
			BlockReg: NoBlock,
			Flags:    CalledStub, Site: SiteNop,
		},
	}
}

func typeRecords(t testing.TB, types *Types) (records []TypeRecord, errs []error) {
	t.Helper()
	for r, err := range types.All() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		records = append(records, r)
	}
	return records, errs
}

func TestTypesRoundTrip(t *testing.T) {
	for _, order := range orders {
		extreme := TypeRecord{
			Location: 1<<64 - 1, Semaphore: 1<<64 - 1, Type: 1<<32 - 1, BlockSize: 1<<32 - 1,
			BlockReg: 31, BlockOffset: -1 << 31, Flags: 1<<16 - 1, Site: 255,
		}
		for _, want := range [][]TypeRecord{nil, sampleRecords()[:1], sampleRecords(), append(sampleRecords(), extreme)} {
			reversed := slices.Clone(want)
			slices.Reverse(reversed)
			data := AppendTypes([]byte("before"), order, reversed)[len("before"):]
			if got := TypesSize(want); got != len(data) {
				t.Errorf("%v, %d records: TypesSize = %d, want %d", order, len(want), got, len(data))
			}
			types, err := ParseTypes(data, order)
			if err != nil {
				t.Fatalf("%v, %d records: %v", order, len(want), err)
			}
			got, errs := typeRecords(t, types)
			if types.Len() != len(want) || !reflect.DeepEqual(got, want) || errs != nil {
				t.Errorf("%v: got %d records %+v, %v\nwant %+v", order, types.Len(), got, errs, want)
			}
		}
	}
}

func TestTypesLookup(t *testing.T) {
	var records []TypeRecord
	for i := range 100 {
		records = append(records, TypeRecord{Provider: "p", Name: fmt.Sprint("n", i), Location: uint64(1000 + 10*i)})
	}
	types, err := ParseTypes(AppendTypes(nil, binary.LittleEndian, records), binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range records {
		if got, ok, err := types.Lookup(want.Location); got != want || !ok || err != nil {
			t.Errorf("Lookup(%d) = %+v, %v, %v, want %+v", want.Location, got, ok, err, want)
		}
	}
	for _, want := range records {
		n := Note{Provider: want.Provider, Name: want.Name, Location: want.Location}
		var got TypeRecord
		if ok, err := types.Of(&n, &got); got != want || !ok || err != nil {
			t.Errorf("Of(%+v) = %+v, %v, %v, want %+v", n, got, ok, err, want)
		}
		for _, other := range []Note{
			{Provider: "q", Name: want.Name, Location: want.Location},
			{Provider: want.Provider, Name: want.Name + "0", Location: want.Location},
			{Provider: want.Provider, Name: want.Name, Location: want.Location + 1},
		} {
			if ok, err := types.Of(&other, &got); ok || err != nil {
				t.Errorf("Of(%+v) = %+v, %v, %v, want nothing", other, got, ok, err)
			}
		}
	}
	for _, location := range []uint64{0, 999, 1001, 1991, 1 << 63} {
		if got, ok, err := types.Lookup(location); ok || err != nil {
			t.Errorf("Lookup(%d) = %+v, %v, %v, want nothing", location, got, ok, err)
		}
	}
}

// TestTypesGrown checks sections with a longer header and longer records, as later
// revisions of version 1 may have.
func TestTypesGrown(t *testing.T) {
	order := binary.LittleEndian
	old := AppendTypes(nil, order, sampleRecords())
	count := uint32(len(sampleRecords()))
	const header, record = typesHeaderSize + 8, typesRecordSize + 24
	data := slices.Clone(old[:typesHeaderSize])
	order.PutUint16(data[10:], header)
	order.PutUint16(data[12:], record)
	order.PutUint32(data[20:], header+record*count)
	data = append(data, "headroom"...)
	for i := range int(count) {
		data = append(data, old[typesHeaderSize+i*typesRecordSize:][:typesRecordSize]...)
		data = append(data, strings.Repeat("x", record-typesRecordSize)...)
	}
	data = append(data, old[typesHeaderSize+int(count)*typesRecordSize:]...)
	types, err := ParseTypes(data, order)
	if err != nil {
		t.Fatal(err)
	}
	if got, errs := typeRecords(t, types); !reflect.DeepEqual(got, sampleRecords()) || errs != nil {
		t.Errorf("got %+v, %v\nwant %+v", got, errs, sampleRecords())
	}
}

func TestParseTypesHostile(t *testing.T) {
	order := binary.LittleEndian
	for _, c := range []struct {
		name string
		edit func(b []byte) []byte
		is   error // what the error wraps, if anything
	}{
		{"empty", func(b []byte) []byte { return nil }, ErrTruncated},
		{"header cut", func(b []byte) []byte { return b[:31] }, ErrTruncated},
		{"strings cut", func(b []byte) []byte { return b[:len(b)-1] }, ErrTruncated},
		{"magic", func(b []byte) []byte { b[0] = 'S'; return b }, nil},
		{"other byte order", func(b []byte) []byte { return AppendTypes(nil, binary.BigEndian, sampleRecords()) }, ErrTypesVersion},
		{"version", func(b []byte) []byte { b[8] = 2; return b }, ErrTypesVersion},
		{"header size 0", func(b []byte) []byte { b[10] = 0; return b }, ErrTruncated},
		{"record size 39", func(b []byte) []byte { b[12] = 39; return b }, ErrTruncated},
		{"record size 0", func(b []byte) []byte { b[12] = 0; return b }, ErrTruncated},
		{"count 3", func(b []byte) []byte { b[16] = 3; return b[:len(b)-1] }, ErrTruncated},
		{"count 4 Gi", func(b []byte) []byte { order.PutUint32(b[16:], 0xffffffff); return b }, ErrTruncated},
		{"count and size at their limits", func(b []byte) []byte {
			order.PutUint16(b[12:], 0xffff)
			order.PutUint32(b[16:], 0xffffffff)
			return b
		}, ErrTruncated},
		{"strings behind the end", func(b []byte) []byte { order.PutUint32(b[20:], 0xffffffff); return b }, ErrTruncated},
		{"strings of 4 GiB", func(b []byte) []byte { order.PutUint32(b[24:], 0xffffffff); return b }, ErrTruncated},
	} {
		_, err := ParseTypes(c.edit(AppendTypes(nil, order, sampleRecords())), order)
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got error %v, want one that wraps %v", c.name, err, c.is)
		}
	}
}

func TestTypesBadStrings(t *testing.T) {
	order := binary.LittleEndian
	for _, c := range []struct {
		name string
		edit func(b []byte) []byte
		is   error
	}{
		{"offset behind the end", func(b []byte) []byte { order.PutUint32(b[32+20:], 0xffffffff); return b }, ErrTruncated},
		{"not terminated", func(b []byte) []byte { order.PutUint32(b[24:], order.Uint32(b[24:])-14); return b }, ErrTruncated},
		{"too long", func(b []byte) []byte {
			long := sampleRecords()
			long[0].Name = strings.Repeat("n", maxTypesString+1)
			return AppendTypes(nil, order, long)
		}, nil},
	} {
		types, err := ParseTypes(c.edit(AppendTypes(nil, order, sampleRecords())), order)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		records, errs := typeRecords(t, types)
		if len(errs) == 0 || len(records)+len(errs) != 2 {
			t.Errorf("%s: got %d records and errors %v, want an error", c.name, len(records), errs)
		}
		for _, err := range errs {
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: got error %v, want one that wraps %v", c.name, err, c.is)
			}
		}
		if _, ok, err := types.Lookup(0x1000); ok || err == nil {
			t.Errorf("%s: Lookup = %v, %v, want an error", c.name, ok, err)
		}
	}
	long := sampleRecords()[:1]
	long[0].Name = strings.Repeat("n", maxTypesString)
	types, err := ParseTypes(AppendTypes(nil, order, long), order)
	if err != nil {
		t.Fatal(err)
	}
	if got, errs := typeRecords(t, types); len(got) != 1 || got[0] != long[0] {
		t.Errorf("a name of %d bytes: %v", maxTypesString, errs)
	}
}

// TestTypesSharedStrings checks that records which all share one long string do not
// multiply the work: a string of 64 times the length takes about as long.
func TestTypesSharedStrings(t *testing.T) {
	order := binary.LittleEndian
	const count = 2_000
	shared := func(strsz int) (took time.Duration) {
		data := AppendTypes(nil, order, make([]TypeRecord, count))
		order.PutUint32(data[20:], uint32(len(data)))
		order.PutUint32(data[24:], uint32(strsz))
		data = append(data, strings.Repeat("s", strsz-1)+"\x00"...)
		return turns.Spent(func() {
			types, err := ParseTypes(data, order)
			if err != nil {
				t.Fatal(err)
			}
			if records, errs := typeRecords(t, types); len(records) != 0 || len(errs) != count {
				t.Errorf("got %d records and %d errors, want %d errors", len(records), len(errs), count)
			}
		})
	}
	short, long := time.Hour, time.Hour
	for range 3 { // machines are noisy
		short, long = min(short, shared(16<<10)), min(long, shared(1<<20))
	}
	if long > 10*short {
		t.Errorf("a string of 1 MiB takes %v, one of 16 KiB %v", long, short)
	}
}

// TestTypesHex checks testdata/types.hex, the example that FORMAT.md explains.
func TestTypesHex(t *testing.T) {
	want, err := os.ReadFile("testdata/types.hex")
	if err != nil {
		t.Fatal(err)
	}
	got := hex.Dump(AppendTypes(nil, binary.LittleEndian, sampleRecords()))
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	doc, err := os.ReadFile("../FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), got) {
		t.Error("FORMAT.md shows another dump")
	}
}

func TestTypesNames(t *testing.T) {
	for site, want := range map[SiteKind]string{SiteOther: "other", SiteNop: "nop", SiteNop5: "nop5", SiteNop10: "nop10", SiteNopNop5: "nop+nop5", SiteNopNop10: "nop+nop10", 99: "other"} {
		if site.String() != want {
			t.Errorf("Site %d: got %q, want %q", site, site, want)
		}
	}
}

// swapTypes returns a section with its first two records in the other order, which
// no section has that AppendTypes writes.
func swapTypes(data []byte) []byte {
	first, second, rest := typesHeaderSize, typesHeaderSize+typesRecordSize, typesHeaderSize+2*typesRecordSize
	return slices.Concat(data[:first], data[second:rest], data[first:second], data[rest:])
}

func FuzzParseTypes(f *testing.F) {
	for i, order := range orders {
		data := AppendTypes(nil, order, sampleRecords())
		f.Add(data, i == 1)
		f.Add(data[:len(data)-5], i == 1)
		f.Add(swapTypes(data), i == 1)
		f.Add(AppendTypes(nil, order, nil), i == 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, big bool) {
		order := orders[0]
		if big {
			order = orders[1]
		}
		types, err := ParseTypes(data, order)
		if err != nil {
			return
		}
		records, errs := typeRecords(t, types)
		if len(records)+len(errs) != types.Len() || types.Len()*typesRecordSize > len(data) {
			t.Errorf("got %d records and %d errors of %d in %d bytes", len(records), len(errs), types.Len(), len(data))
		}
		want := slices.Clone(records)
		encoded := AppendTypes(nil, order, records)
		slices.SortStableFunc(want, func(a, b TypeRecord) int { return cmp.Compare(a.Location, b.Location) })
		again, err := ParseTypes(encoded, order)
		if err != nil {
			t.Fatalf("encoded again: %v", err)
		}
		if got, errs := typeRecords(t, again); !reflect.DeepEqual(got, want) && len(want) > 0 || errs != nil {
			t.Errorf("got %+v, %v\nwant %+v", got, errs, want)
		}
		for _, r := range want {
			if got, ok, err := again.Lookup(r.Location); !ok || err != nil || got.Location != r.Location {
				t.Errorf("Lookup(%#x) = %+v, %v, %v", r.Location, got, ok, err)
			}
		}
	})
}
