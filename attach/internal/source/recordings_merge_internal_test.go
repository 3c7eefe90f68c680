package source

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/tracefile"
)

// times is a file whose records have these times.
type times struct {
	recordedFile
	of []uint64
}

func (f times) Records() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rec := make([]byte, 64)
		for _, at := range f.of {
			binary.NativeEndian.PutUint64(rec[record.Time:], at)
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (times) losses() []tracefile.Loss { return nil }

func (times) Close() error { return nil }

// recordingsOfTimes returns recordings of n files with some records each, and all times in order.
func recordingsOfTimes(n, each int) (r *Recordings, all []uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	r = &Recordings{}
	for i := range n {
		of := make([]uint64, each)
		for j := range of {
			of[j] = random.Uint64N(uint64(n*each)/4 + 1)
		}
		slices.Sort(of)
		all = append(all, of...)
		r.files = append(r.files, &recording{recordedFile: times{of: of}, index: i})
	}
	slices.Sort(all)
	return r, all
}

// TestMerge reads many files by the times of their records; of equal times the earlier file's
// comes first.
func TestMerge(t *testing.T) {
	r, want := recordingsOfTimes(300, 7)
	defer r.Close()
	last := -1
	for i, at := range want {
		f := r.earliest()
		if f == nil || f.waiting.Time() != at {
			t.Fatalf("record %d is %v, want time %d", i, f, at)
		}
		if i > 0 && want[i-1] == at && f.index < last {
			t.Errorf("record %d at %d is of file %d, after one of file %d", i, at, f.index, last)
		}
		last = f.index
		r.advance()
	}
	if f := r.earliest(); f != nil {
		t.Errorf("after the last record there is one at %d", f.waiting.Time())
	}
}

// BenchmarkMerge shows what a record costs among few and among many files: the logarithm of
// their number.
func BenchmarkMerge(b *testing.B) {
	for _, files := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint("files=", files), func(b *testing.B) {
			for b.Loop() {
				r, all := recordingsOfTimes(files, 1)
				for range all {
					r.earliest()
					r.advance()
				}
				r.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files), "ns/record")
		})
	}
}
