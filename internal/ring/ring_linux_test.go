package ring_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// pair returns both ends of a ring.
func pair(t testing.TB, g ring.Geometry, clock ring.Clock) (*ring.Writer, *ring.Reader) {
	t.Helper()
	w, err := ring.NewWriter(g, clock, "test")
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Read(4711, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		w.Close()
	})
	return w, r
}

var clocks = []ring.Clock{ring.Monotonic, ring.Counter}

// TestBytes writes records of all sizes, with and without texts, slots and failures,
// by every writer, and reads them while the ring turns.
func TestBytes(t *testing.T) {
	// Two clocks are never looked at together: this process may lose its processor in between.
	// In an emulated machine, a look takes long.
	slack, records := uint64(100*time.Microsecond), 20_000
	if testing.Short() {
		slack, records = uint64(10*time.Millisecond), 4000
	}
	for _, clock := range clocks {
		for _, owned := range ring.Owned(2) {
			w, r := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, clock)
			w.Own(owned)
			random := rand.New(rand.NewPCG(1, 2))
			memory := make([]byte, 4096)
			for i := range memory {
				memory[i] = byte(random.Uint32())
			}
			var buf []byte
			for i := range records {
				var rec ring.Record
				slots := random.IntN(ring.MaxSlots + 1)
				failures := random.IntN(2) == 0
				rec.Site(uint32(i)&0xffff, slots, failures)
				size := 8 * (slots + 1 + random.IntN(40))
				if random.IntN(8) == 0 {
					size += random.IntN(600)
				}
				start := random.IntN(100)
				rec.Block, rec.Size = unsafe.Pointer(&memory[start]), uintptr(size)
				want := bytes.Clone(memory[start : start+size])
				var texts []*ring.Text
				rec.Limit = uintptr(random.IntN(400))
				for range random.IntN(4) {
					at, n := random.IntN(100), random.IntN(70)
					if random.IntN(10) == 0 {
						n = random.IntN(1000)
					}
					texts = append(texts, &ring.Text{At: unsafe.Pointer(&memory[at]), Length: uintptr(n)})
					want = append(want, memory[at:at+min(n, int(rec.Limit))]...)
				}
				if len(texts) > 0 {
					rec.Texts, rec.Count = &texts[0], uintptr(len(texts))
				}
				write := w.Write
				if i%3 == 0 {
					write = w.WritePortably
				}
				before := ring.Now()
				if result := write(&rec); result != ring.Recorded {
					t.Fatalf("record %d: result %d", i, result)
				}
				if more, err := r.Poll(true); !more || err != nil {
					t.Fatalf("record %d: %v, %v", i, more, err)
				}
				at, ok := r.Time()
				if after := ring.Now(); !ok || at+slack < before || at > after+slack {
					t.Errorf("record %d is of %d, want %d to %d", i, at, before, after)
				}
				got, ok, err := r.Next(buf)
				if !ok || err != nil {
					t.Fatalf("record %d: %v, %v", i, ok, err)
				}
				buf = got
				if !failures {
					want = append(want[:8*slots:8*slots], append(make([]byte, 8), want[8*slots:]...)...)
				}
				rc := record.Record(got)
				if comm := rc.Comm(); rc.Site() != uint32(i)&0xffff || rc.PID() != 4711 || rc.TID() != 0 || string(comm[:5]) != "test\x00" || rc.Time() != at {
					t.Fatalf("record %d has header %x", i, got[:record.HeaderSize])
				}
				if !bytes.Equal(got[record.HeaderSize:], want) {
					t.Fatalf("record %d of %d slots, %d bytes, %d texts is\n%x, want\n%x", i, slots, size, len(texts), got[record.HeaderSize:], want)
				}
				if _, ok, err := r.Next(buf); ok || err != nil {
					t.Fatalf("record %d: another, %v", i, err)
				}
			}
			if n := r.Counts(); n != (ring.Counts{Recorded: uint64(records)}) {
				t.Errorf("counts %+v", n)
			}
		}
	}
}

// TestWords writes records of words, with and without the address of the goroutine, by
// every writer.
func TestWords(t *testing.T) {
	for _, owned := range ring.Owned(2) {
		w, r := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, ring.ClockHere())
		w.Own(owned)
		for i := range uint64(1000) {
			words := [6]uint64{i, i << 32, ^i, 1<<63 | i, 5, 6}
			var args [6]unsafe.Pointer
			for j := range args {
				args[j] = unsafe.Pointer(&words[j])
			}
			n, goroutine := int(i%7), i%2 == 0
			var want []byte
			rec := ring.Words(args[:n], goroutine)
			rec.Site(uint32(i), 0, false)
			want = binary.NativeEndian.AppendUint64(want, 0) // failures
			if goroutine {
				rec.Site(uint32(i), 1, false)
				want = append(binary.NativeEndian.AppendUint64(nil, uint64(ring.Goroutine())), want...)
			}
			for _, word := range words[:n] {
				want = binary.NativeEndian.AppendUint64(want, word)
			}
			if n == 0 {
				want = want[:len(want)-8] // there is no block
			}
			write := w.Write
			if i%3 == 0 {
				write = w.WritePortably
			}
			if result := write(&rec); result != ring.Recorded {
				t.Fatalf("record %d: result %d", i, result)
			}
			if more, err := r.Poll(true); !more || err != nil {
				t.Fatalf("record %d: %v, %v", i, more, err)
			}
			got, ok, err := r.Next(nil)
			if !ok || err != nil || record.Record(got).Site() != uint32(i) || !bytes.Equal(got[record.HeaderSize:], want) {
				t.Fatalf("record %d of %d words is %x, %v, %v, want\n%x", i, n, got, ok, err, want)
			}
		}
	}
}

// word returns a record of one number.
func word(site uint32, block *uint64) (r ring.Record) {
	r.Site(site, 0, false)
	r.Block, r.Size = unsafe.Pointer(block), 8
	return r
}

// TestFull checks that a full ring loses what is new, and counts it.
func TestFull(t *testing.T) {
	w, r := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, ring.Counter)
	fired, got := uint64(0), uint64(0)
	for range 3 {
		for range 10_000 {
			rec := word(1, &fired)
			w.Write(&rec)
			fired++
		}
		if _, err := r.Poll(true); err != nil {
			t.Fatal(err)
		}
		for last := uint64(0); ; got++ {
			rec, ok, err := r.Next(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			n := binary.NativeEndian.Uint64(rec[record.HeaderSize+8:])
			if last > 0 && n <= last {
				t.Fatalf("%d comes after %d", n, last)
			}
			last = n
		}
		if n := r.Counts(); n.Fired() != fired || n.Recorded != got || n.Full != fired-got || got == 0 || n.Full == 0 {
			t.Errorf("counts %+v, want %d fired and %d recorded", n, fired, got)
		}
	}
	large := make([]byte, 33<<10)
	rec := ring.Record{Block: unsafe.Pointer(&large[0]), Size: uintptr(len(large))}
	if result := w.Write(&rec); result != ring.Full {
		t.Errorf("a record of more than half a shard: result %d", result)
	}
	fired++
	w.Filter()
	fired++
	w.Stop()
	rec = word(1, &fired)
	if result := w.Write(&rec); result != ring.Closed {
		t.Errorf("after Stop: result %d", result)
	}
	if n := r.Counts(); n.Fired() != fired || n.Recorded != got || n.Filtered != 1 {
		t.Errorf("counts %+v, want %d fired and %d recorded", n, fired, got)
	}
}

// TestMany checks that many goroutines lose nothing to each other, that each one's
// records come in their order, and that all are accounted for, while a tracer reads: on
// the CPUs that there are, as if there were 64, and with far fewer shards than CPUs.
func TestMany(t *testing.T) {
	here := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(here)
	few := ring.Geometry{Shards: 2, Size: 1 << 20}
	for _, test := range []struct {
		procs, each int
		geometry    ring.Geometry
	}{{here, 10_000, ring.GeometryFor(8<<20, here)}, {64, 5_000, ring.GeometryFor(8<<20, 64)}, {64, 5_000, few}} {
		t.Run(fmt.Sprintf("%d/%d", test.procs, test.geometry.Shards), func(t *testing.T) {
			runtime.GOMAXPROCS(test.procs)
			checkMany(t, test.geometry, test.each, test.geometry != few)
		})
	}
}

// checkMany checks a ring into which many goroutines write, each so many records. If exclusive,
// no goroutine may find all shards taken.
func checkMany(t *testing.T, geometry ring.Geometry, each int, exclusive bool) {
	const goroutines = 64
	if raced {
		each /= 4
	}
	w, r := pair(t, geometry, ring.ClockHere())
	var done atomic.Bool
	var all sync.WaitGroup
	for g := range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range uint64(each) {
				if i%100 == 99 {
					w.Filter()
					continue
				}
				rec := word(uint32(g), &i)
				w.Write(&rec)
			}
		}()
	}
	go func() {
		all.Wait()
		done.Store(true)
	}()
	last := make([]int64, goroutines)
	for i := range last {
		last[i] = -1
	}
	received := uint64(0)
	var buf []byte
	for final := false; ; {
		now := done.Load()
		more, err := r.Poll(final)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, ok, err := r.Next(buf)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			buf = rec
			received++
			c := record.Record(rec)
			n := int64(binary.NativeEndian.Uint64(rec[record.HeaderSize+8:]))
			if n <= last[c.Site()] {
				t.Fatalf("goroutine %d: %d comes after %d", c.Site(), n, last[c.Site()])
			}
			last[c.Site()] = n
		}
		if final && !more {
			break
		}
		if final = now; !more {
			runtime.Gosched()
		}
	}
	n := r.Counts()
	fired, filtered := uint64(goroutines*each), uint64(goroutines*(each/100))
	if n.Fired() != fired || n.Recorded != received || n.Filtered != filtered || n.Contended != 0 && exclusive && !raced {
		t.Errorf("counts %+v, want %d fired, %d recorded, %d filtered, none contended", n, fired, received, filtered)
	}
}

// TestOneShard checks a ring with fewer shards than goroutines that write at once.
func TestOneShard(t *testing.T) {
	w, r := pair(t, ring.Geometry{Shards: 1, Size: 64 << 20}, ring.ClockHere())
	var all sync.WaitGroup
	const goroutines, each = 8, 50_000
	for range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range uint64(each) {
				rec := word(0, &i)
				w.Write(&rec)
			}
		}()
	}
	all.Wait()
	if n := r.Counts(); n.Fired() != goroutines*each || n.Full != 0 {
		t.Errorf("counts %+v, want %d fired", n, goroutines*each)
	}
}

// TestSample checks that one in N events is chosen.
func TestSample(t *testing.T) {
	s := ring.NewSample(10)
	var chosen atomic.Int64
	var all sync.WaitGroup
	const goroutines, each = 8, 10_000
	for range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for range each {
				if s.Take() {
					chosen.Add(1)
				}
			}
		}()
	}
	all.Wait()
	// Each P chooses the first of ten.
	if n := chosen.Load(); n < goroutines*each/10 || n > goroutines*each/10+64 {
		t.Errorf("%d of %d chosen, want one in 10", n, goroutines*each)
	}
}

// TestGeometry checks the sizes of rings.
func TestGeometry(t *testing.T) {
	for _, test := range []struct {
		total, procs int
		want         ring.Geometry
	}{
		{4 << 20, 2, ring.Geometry{Shards: 4, Size: 1 << 20}},
		{4 << 20, 3, ring.Geometry{Shards: 8, Size: 512 << 10}},
		{4 << 20, 1, ring.Geometry{Shards: 2, Size: 2 << 20}},
		{0, 128, ring.Geometry{Shards: 256, Size: 64 << 10}},
		{1 << 40, 4, ring.Geometry{Shards: 8, Size: 64 << 20}},
		{1 << 40, 1 << 20, ring.Geometry{Shards: 1024, Size: 1 << 20}},
		{5 << 20, 2, ring.Geometry{Shards: 4, Size: 1 << 20}},
	} {
		if got := ring.GeometryFor(test.total, test.procs); got != test.want {
			t.Errorf("%d bytes for %d CPUs: %+v, want %+v", test.total, test.procs, got, test.want)
		}
	}
}
