package query

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/reader"
)

// numbers are values whose buckets are easily mistaken, extended to 64 bits.
func numbers(kind reader.FieldKind) (bits []uint64, values []float64) {
	for shift := range 64 {
		for _, d := range []int64{-1, 0, 1} {
			n := uint64(1)<<shift + uint64(d)
			switch kind {
			case reader.Float:
				for _, f := range []float64{math.Ldexp(1, shift-40), -math.Ldexp(1.5, shift-40), math.Nextafter(math.Ldexp(1, shift-32), 0)} {
					bits, values = append(bits, math.Float64bits(f)), append(values, f)
				}
			case reader.Int:
				bits, values = append(bits, n), append(values, float64(int64(n)))
			default:
				bits, values = append(bits, n), append(values, float64(n))
			}
		}
	}
	return bits, values
}

// TestFractionBucket checks that each number lies in its bucket of a histogram by powers of two and their
// fractions, whose borders have been computed with 1,024 bits.
func TestFractionBucket(t *testing.T) {
	for scale := range MaxScale + 1 {
		for _, kind := range []reader.FieldKind{reader.Uint, reader.Int, reader.Float} {
			d := divisions[ByScale(scale)]
			bits, values := numbers(kind)
			if kind != reader.Float {
				for k := range 1 << scale * 60 { // the integers beside each border
					border := uint64(math.Exp2(float64(k) / float64(int(1)<<scale)))
					for _, n := range []uint64{border - 1, border, border + 1} {
						bits, values = append(bits, n), append(values, float64(n))
						if kind == reader.Int {
							bits, values = append(bits, -n), append(values, -float64(n))
						}
					}
				}
			}
			for i, v := range values {
				bucket := d.bucket(&Input{Kind: kind}, bits[i], nil)
				if bucket < 0 || bucket >= d.buckets(nil, kind) {
					t.Fatalf("scale %d, kind %d: %g is in bucket %d of %d", scale, kind, v, bucket, d.buckets(nil, kind))
				}
				lo, hi := d.limits(bucket, kind, nil)
				if got, want := bucket-FractionZero(kind, scale), exactRank(bits[i], kind, scale); got != want {
					t.Errorf("scale %d, kind %d: %g is in bucket %d from %g to %g, want %d", scale, kind, v, got, lo, hi, want)
				}
				// float64 rounds integers and borders.
				if lo*(1-math.Copysign(1e-15, lo)) > v || v >= hi*(1+math.Copysign(1e-15, hi)) && v != 0 {
					t.Errorf("scale %d, kind %d: %g is in bucket %d from %g to %g", scale, kind, v, bucket, lo, hi)
				}
			}
		}
	}
}

// exactRank returns the index of a number's bucket, counted from zero's.
func exactRank(bits uint64, kind reader.FieldKind, scale int) int {
	power, first := new(big.Float).SetPrec(1024), 0
	switch kind {
	case reader.Float:
		power.SetFloat64(math.Float64frombits(bits))
		first = FirstPower << scale
	case reader.Int:
		power.SetInt64(int64(bits))
	default:
		power.SetUint64(bits)
	}
	if power.Sign() == 0 {
		return 0
	}
	negative := power.Sign() < 0
	for range scale {
		power.Mul(power, power)
	}
	mantissa := new(big.Float)
	rank := power.MantExp(mantissa) - first // 1 for what lies from the first border to the next
	if mantissa.Cmp(big.NewFloat(0.5)) == 0 && negative || mantissa.Cmp(big.NewFloat(-0.5)) == 0 {
		rank-- // which its bucket ends with
	}
	if kind == reader.Float && rank > (floatPowers-1)<<scale { // which has no parts
		rank = (floatPowers-1)<<scale + 1
	}
	rank = max(rank, 0)
	if negative {
		return ^rank
	}
	return rank
}

// TestBoundsTable checks that a search in the table of bounds finds all bounds that are not
// greater than the value.
func TestBoundsTable(t *testing.T) {
	bounds := []float64{-1e300, -7.5, -1, 0, 0.5, 3, 1e10, 1 << 63, 1e300}
	for _, kind := range []reader.FieldKind{reader.Uint, reader.Int, reader.Float} {
		table := BoundsTable(bounds, kind)
		if len(table) != 8*BoundsEntries(len(bounds)) || BoundsEntries(len(bounds)) != 15 {
			t.Fatalf("the table has %d bytes, want 8 * 15", len(table))
		}
		bits, values := numbers(kind)
		for i, v := range values {
			order := bits[i]
			switch {
			case kind == reader.Float && v < 0:
				order = ^order
			case kind != reader.Uint:
				order ^= 1 << 63
			}
			got := 0
			for got < len(bounds) && binary.NativeEndian.Uint64(table[8*got:]) <= order {
				got++
			}
			want, found := slices.BinarySearch(bounds, v)
			if found {
				want++
			}
			if exact := kind == reader.Float || math.Abs(v) < 1<<53; got != want && exact {
				t.Errorf("kind %d: %g has %d bounds below it, want %d", kind, v, got, want)
			}
		}
	}
}

// TestMerge checks that groups are added as their numbers are: sums of squares with a carry, and
// extremes by order.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []reader.FieldKind{reader.Uint, reader.Int} {
		v := &Values{Value: true, Sum: true, Min: true, Max: true, Hist: true, Squares: true, Fine: true, Division: ByBounds, Bounds: 2}
		places, _ := v.Places(kind)
		group := func() ([]uint64, *big.Int) {
			words := make([]uint64, v.Words(kind))
			for i := range words {
				words[i] = uint64(i)
			}
			words[WordMin], words[WordMax] = random.Uint64(), random.Uint64()
			sum := random.Uint64()
			hi, lo := Square(sum, kind)
			squares := CellOf(words, places, CellSquares)
			squares[0], squares[1] = lo, hi
			n := new(big.Int).SetUint64(sum)
			if kind == reader.Int {
				n.SetInt64(int64(sum))
			}
			return words, n.Mul(n, n)
		}
		for range 100 {
			a, squareA := group()
			b, squareB := group()
			want := slices.Clone(a)
			for i := range want {
				want[i] += b[i]
			}
			want[WordMin], want[WordMax] = max(a[WordMin], b[WordMin]), max(a[WordMax], b[WordMax])
			all := squareA.Add(squareA, squareB)
			squares := CellOf(want, places, CellSquares)
			squares[0] = new(big.Int).And(all, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
			squares[1] = new(big.Int).And(new(big.Int).Rsh(all, 64), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
			Merge(a, b, places)
			if d := cmp.Diff(want, a); d != "" {
				t.Fatalf("kind %d: words (-want +got):\n%s", kind, d)
			}
		}
	}
}
