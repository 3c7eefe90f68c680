package sums

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// whole returns the sum where 64 bits do not hold it, which words have modulo 2^64: so many times the
// least value is not more, and so many times the greatest one is not less. It returns nil if 64 bits
// hold the sum, or if the two values lie too far apart to tell. Sums of floating-point numbers are in
// units of 2^-[query.SumFraction].
func (w *words) whole() *big.Int {
	if v := w.l.Wanted.Values(); !v.Min || !v.Max || w.all[query.WordCount] == 0 {
		return nil
	}
	least, most := unorder(^w.all[query.WordMin], w.kind), unorder(w.all[query.WordMax], w.kind)
	if w.kind == reader.Float {
		least = uint64(units(math.Floor, least))
		most = uint64(units(math.Ceil, most))
	}
	if high, low := bits.Mul64(w.all[query.WordCount], max(w.amount(least), w.amount(most))); high == 0 && (low < 1<<63 || w.kind == reader.Uint) {
		return nil
	}
	n := new(big.Int).SetUint64(w.all[query.WordCount])
	from, to := w.big(least), w.big(most)
	from.Mul(from, n)
	to.Mul(to, n)
	around := new(big.Int).Lsh(big.NewInt(1), 64)
	sum := w.big(w.all[query.WordSum])
	sum.Sub(sum, from).Mod(sum, around).Add(sum, from) // the first one from there on
	if sum.Cmp(to) > 0 || new(big.Int).Add(sum, around).Cmp(to) <= 0 {
		return nil
	}
	return sum
}

// units returns what a floating-point number adds to a sum.
func units(round func(float64) float64, number uint64) int64 {
	return int64(round(math.Ldexp(math.Float64frombits(number), query.SumFraction)))
}

// amount returns the amount of what is added to a sum.
func (w *words) amount(addend uint64) uint64 {
	if query.SumSigned(w.kind) && int64(addend) < 0 {
		return -addend
	}
	return addend
}

// big returns what is added to a sum.
func (w *words) big(addend uint64) *big.Int {
	if query.SumSigned(w.kind) {
		return big.NewInt(int64(addend))
	}
	return new(big.Int).SetUint64(addend)
}
