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
	sum := w.whole()
	wrapped := sum != nil
	if !wrapped {
		sum = w.big(w.all[query.WordSum])
	}
	halves := w.cell(query.CellSquares)
	squares := new(big.Int).SetUint64(halves[1])
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(halves[0]))
	n := new(big.Int).SetUint64(count)

	// n² times the variance is n times the sum of squares, less the square of the sum.
	scaled := squares.Mul(squares, n)
	scaled.Sub(scaled, sum.Mul(sum, sum))
	switch {
	case wrapped:
		// The sum of squares is known modulo 2^128. Values that lie so close together that the sum is known
		// have a variance of less than that.
		scaled.Mod(scaled, n.Lsh(n, 128))
	case scaled.Sign() < 0:
		scaled.SetInt64(0) // sums that wrapped around
	}
	root, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(128).SetInt(scaled)).Float64()
	stddev := root / float64(count)
	if w.kind == reader.Float {
		return math.Ldexp(stddev, -query.SumFraction)
	}
	return stddev
}
