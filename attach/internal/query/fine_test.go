package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestFineBucket checks that each bucket's middle is at most 1/64 of a number away from
// all numbers of the bucket, and that buckets are in the order of numbers.
func TestFineBucket(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		kind   reader.FieldKind
		number func() uint64
		value  func(bits uint64) float64
	}{
		{reader.Uint, func() uint64 { return random.Uint64() >> random.IntN(64) }, func(b uint64) float64 { return float64(b) }},
		{reader.Int, func() uint64 { return uint64(int64(random.Uint64()) >> random.IntN(64)) }, func(b uint64) float64 { return float64(int64(b)) }},
		{reader.Float, func() uint64 {
			f := math.Ldexp(1+random.Float64(), random.IntN(finePowers)+FineFirst)
			return math.Float64bits(math.Copysign(f, random.Float64()-0.5))
		}, math.Float64frombits},
	} {
		numbers := []uint64{0, 1, 63, 64, 65, math.MaxInt64}
		switch test.kind {
		case reader.Uint:
			numbers = append(numbers, 1<<63, math.MaxUint64)
		case reader.Int:
			numbers = append(numbers, 1<<63, math.MaxUint64)
		case reader.Float:
			numbers = []uint64{0, 1 << 63, math.Float64bits(math.Ldexp(1, FineFirst)), math.Float64bits(-math.Ldexp(1, FineFirst))}
		}
		for range 100_000 {
			numbers = append(numbers, test.number())
		}
		slices.SortFunc(numbers, func(a, b uint64) int {
			if x, y := test.value(a), test.value(b); x != y {
				if x < y {
					return -1
				}
				return 1
			}
			return 0
		})
		last := 0
		for _, n := range numbers {
			i := FineBucket(n, test.kind)
			if i < last || i >= FineBuckets(test.kind) {
				t.Fatalf("kind %d: %g is in bucket %d of %d, behind %d", test.kind, test.value(n), i, FineBuckets(test.kind), last)
			}
			last = i
			got, want := test.value(FineMiddle(i, test.kind)), test.value(n)
			if math.Abs(got-want) > math.Abs(want)/64 {
				t.Errorf("kind %d: %g stands for %g", test.kind, got, want)
			}
			if test.kind != reader.Float && math.Abs(want) < 64 && got != want {
				t.Errorf("kind %d: %g stands for %g, which has a bucket of its own", test.kind, got, want)
			}
		}
	}
	for f, want := range map[float64]float64{1e-300: 0, -1e-300: 0, 1e300: 1 << 31, -1e300: -1 << 31, 1 << 31: 1 << 31} {
		if got := math.Float64frombits(FineMiddle(FineBucket(math.Float64bits(f), reader.Float), reader.Float)); got != want {
			t.Errorf("%g stands for %g, want %g", got, f, want)
		}
	}
	// Groups without quantiles and deviations are as large as ever.
	if plain := (Values{Value: true, Sum: true, Hist: true}); plain.Words(reader.Int) != WordHist+FractionBuckets(reader.Int, 0) {
		t.Errorf("%d words without fine buckets, want %d", plain.Words(reader.Int), WordHist+FractionBuckets(reader.Int, 0))
	}
	most := Values{Hist: true, Squares: true, Fine: true}
	for _, kind := range []reader.FieldKind{reader.Uint, reader.Int, reader.Float} {
		if n := most.Words(kind); n > MaxWords {
			t.Errorf("%d words of kind %d, and a map has room for %d", n, kind, MaxWords)
		}
	}
}
