package ring_test

import (
	"testing"

	"github.com/go-usdt/usdt/internal/ring"
)

// TestFreeze checks that a reader comes to an end, with numbers that agree, though the
// other process goes on to write.
func TestFreeze(t *testing.T) {
	w, r := pair(t, ring.Geometry{Shards: 2, Size: 64 << 10}, ring.Counter)
	value := uint64(0)
	write := func() {
		rec := word(1, &value)
		w.Write(&rec)
	}
	for range 10 {
		write()
	}
	r.Freeze()
	write()
	read := 0
	for {
		more, err := r.Poll(true)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		for {
			_, ok, err := r.Next(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			read++
			write()
			r.Freeze() // only the first counts
		}
		if read > 10 {
			break
		}
	}
	if n := r.Counts(); read != 10 || n.Recorded != 10 {
		t.Errorf("%d records read, counts %+v, want the 10 of the beginning", read, n)
	}
}
