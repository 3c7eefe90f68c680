package ring_test

import (
	"encoding/binary"
	"fmt"

	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/ring"
)

// TestStacks writes records that lie on stacks which grow and move.
func TestStacks(t *testing.T) {
	w, r := pair(t, ring.Geometry{Shards: 4, Size: 4 << 20}, ring.ClockHere())
	var all sync.WaitGroup
	for g := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 200 {
				deep(w, uint32(g), n)
			}
		}()
	}
	for range 20 {
		runtime.GC()
	}
	all.Wait()
	if _, err := r.Poll(true); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		rec, ok, err := r.Next(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		body := rec[record.HeaderSize+8:]
		depth := binary.NativeEndian.Uint64(body)
		if want := fmt.Sprintf("depth %d", depth); string(body[8:]) != want {
			t.Fatalf("record %d is %q, want %q", n, body[8:], want)
		}
	}
}

//go:noinline
func deep(w *ring.Writer, site uint32, n int) byte {
	var room [128]byte
	room[n%128] = byte(n)
	if n > 0 {
		room[0] = deep(w, site, n-1)
	}
	var text [16]byte
	s := fmt.Appendf(text[:0], "depth %d", n)
	block := uint64(n)
	texts := [1]*ring.Text{{At: unsafe.Pointer(unsafe.SliceData(s)), Length: uintptr(len(s))}}
	rec := ring.Record{Block: unsafe.Pointer(&block), Size: 8, Texts: &texts[0], Count: 1, Limit: 100}
	rec.Site(site, 0, false)
	w.Write(&rec)
	return room[n%128]
}
