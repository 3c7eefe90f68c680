package sums

import (
	"math"
	"math/big"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// stddev returns the standard deviation. It is computed with integers: the difference of large
// sums, which floating-point numbers would lose, stays exact.
func (w *words) stddev() float64 {
	count := w.all[query.WordCount]
	sum := new(big.Int).SetUint64(w.all[query.WordSum])
	if w.kind != reader.Uint {
		sum.SetInt64(int64(w.all[query.WordSum]))
	}
	halves := w.cell(query.CellSquares)
	squares := new(big.Int).SetUint64(halves[1])
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(halves[0]))
	n := new(big.Int).SetUint64(count)

	// n² times the variance is n times the sum of squares, less the square of the sum.
	scaled := squares.Mul(squares, n)
	scaled.Sub(scaled, sum.Mul(sum, sum))
	if scaled.Sign() < 0 {
		scaled.SetInt64(0) // sums that wrapped around
	}
	root, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(128).SetInt(scaled)).Float64()
	stddev := root / float64(count)
	if w.kind == reader.Float {
		return math.Ldexp(stddev, -query.SumFraction)
	}
	return stddev
}
