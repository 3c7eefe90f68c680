package ring_test

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// everyByte makes TestRecordingFlips flip each byte, and not a selection.
var everyByte = flag.Bool("every-byte", false, "damage each byte of a recording")

// recorder returns a Writer that records to a file, with a description of the sites 1 to
// 4, and the file's path.
func recorder(t testing.TB, g ring.Geometry, clock ring.Clock) (*ring.Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.usdt")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w, err := ring.NewRecorder(int(f.Fd()), g, clock, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, numbers := range [][]uint32{{1, 2}, {3, 4}} {
		if _, err := f.Write(ring.AppendObject(nil, []byte("image"), 100, numbers, []uint64{0x1000, 0x2000})); err != nil {
			t.Fatal(err)
		}
	}
	return w, path
}

// value is the site of a record, and its number.
type value struct{ site, n uint64 }

// values returns what a recording's records are.
func values(t testing.TB, r *ring.Recording) (all []value) {
	t.Helper()
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		v := value{site: uint64(record.Record(rec).Site())}
		if body := rec[record.HeaderSize:]; len(body) >= 16 {
			v.n = binary.NativeEndian.Uint64(body[8:])
		}
		all = append(all, v)
	}
	return all
}

// TestRecordingFlips damages one byte at a time: the reader refuses the file in one
// sentence, or loses no more than the part of the file that the byte is in.
func TestRecordingFlips(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no kernel makes a difference to what a file holds")
	}
	w, path := recorder(t, ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic)
	const fired, size = 400, 16 + 200
	for i := range uint64(fired) {
		block := [200 / 8]uint64{i}
		rec := ring.Record{Block: unsafe.Pointer(&block), Size: unsafe.Sizeof(block)}
		rec.Site(uint32(1+i%4), 0, false)
		w.Write(&rec)
	}
	data, _, areas := w.Memory()
	parts, end := areas, len(data)
	w.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ring.ReadRecording(good)
	if err != nil {
		t.Fatal(err)
	}
	want := values(t, whole)
	oldest := want[0].n
	const part = 16 << 10
	perPart := (part - 32) / size
	damaged := append([]byte(nil), good...)
	refused, lossy, step := 0, 0, 197
	if raced {
		step = 997 // each takes long
	}
	for at := range good {
		if inside := (at - parts) % part; !*everyByte && (at >= 128 && at < parts && good[at] == 0 || at >= parts && at < end && inside > 64 && at%step != 0 || at >= end && at%(step/97) != 0) {
			continue
		}
		damaged[at] ^= 1 << (at % 8)
		r, err := ring.ReadRecording(damaged)
		damaged[at] = good[at]
		if err != nil {
			refused++
			if at >= 4096 || strings.Contains(err.Error(), "\n") {
				t.Errorf("byte %d: %v", at, err)
			}
			continue
		}
		lost, strange := len(want), 0
		var seen [fired]bool
		for _, v := range values(t, r) {
			switch {
			case v.n >= fired || v.site != 1+v.n%4 || seen[v.n]:
				strange++
			case v.n >= oldest:
				seen[v.n] = true
				lost--
			}
		}
		if lost > 0 {
			lossy++
		}
		// A description counts for half of the records.
		if strange > 1 || at < end && lost > perPart || lost > fired/2 {
			t.Errorf("byte %d: %d of %d records are lost, and %d were not written; counts %+v", at, lost, len(want), strange, r.Counts())
		}
	}
	if refused == 0 || lossy == 0 {
		t.Errorf("%d files are refused, and %d have lost records: the damage does no harm", refused, lossy)
	}
}

// TestRecordingTruncated reads files that end too early, as after a loss of power.
func TestRecordingTruncated(t *testing.T) {
	w, path := recorder(t, ring.Geometry{Shards: 1, Size: 64 << 10}, ring.Monotonic)
	for i := range uint64(1000) {
		rec := word(uint32(1+i%4), &i)
		w.Write(&rec)
	}
	data, _, _ := w.Memory()
	end := len(data)
	w.Close()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	object := (len(good) - end) / 2
	for _, test := range []struct{ size, kept int }{{len(good), 1000}, {len(good) - 1, 500}, {end + object, 500}, {end + object - 1, 0}, {end, 0}} {
		r, err := ring.ReadRecording(good[:test.size])
		if err != nil {
			t.Errorf("%d bytes: %v", test.size, err)
			continue
		}
		if n := r.Counts(); len(values(t, r)) != test.kept || n.Recorded != 1000 || n.Kept != uint64(test.kept) || n.Unknown != uint64(1000-test.kept) || (n.Damaged > 0) != (test.size != len(good) && test.size != end+object && test.size != end) {
			t.Errorf("%d bytes: counts %+v, want %d kept", test.size, n, test.kept)
		}
	}
	for size := 0; size < end; size += 97 {
		if _, err := ring.ReadRecording(good[:size]); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestRecordingLive reads a file again and again while a process writes to it: nothing is
// damaged, or there twice.
func TestRecordingLive(t *testing.T) {
	for _, clock := range clocks {
		w, path := recorder(t, ring.Geometry{Shards: 4, Size: 64 << 10}, clock)
		var stop atomic.Bool
		var all sync.WaitGroup
		for g := range uint32(4) {
			all.Add(1)
			go func() {
				defer all.Done()
				for i := uint64(0); !stop.Load(); i++ {
					rec := word(1+g, &i)
					w.Write(&rec)
				}
			}()
		}
		rounds := 20
		if raced || testing.Short() {
			rounds = 3 // each takes long
		}
		// A reader that waits for a processor finds only what was recorded last, so
		// one round at least finds many.
		most := 0
		for round := 0; round < rounds || most < 1000; round++ {
			if round == 10_000 {
				t.Fatalf("no round found more than %d records", most)
			}
			r, err := ring.OpenRecording(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := r.Counts(); n.Damaged+n.Unknown > 0 {
				t.Errorf("round %d: counts %+v", round, n)
			}
			all := values(t, r)
			seen := map[value]bool{}
			for _, v := range all {
				if seen[v] || v.site == 0 || v.site > 4 {
					t.Fatalf("round %d: %+v", round, v)
				}
				seen[v] = true
			}
			most = max(most, len(all))
			r.Close()
		}
		stop.Store(true)
		all.Wait()
		w.Close()
	}
}
