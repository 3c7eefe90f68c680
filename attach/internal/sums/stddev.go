package sums

import (
	"math"
	"math/big"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/reader"
)

// stddevOf returns the standard deviation for the words of a group. It is computed with
// integers: the difference of large sums, which floating-point numbers would lose, stays
// exact.
func stddevOf(l *bind.Layout, words []uint64) any {
	values := l.Wanted.Values()
	at := values.SquaresAt()
	sum := new(big.Int).SetUint64(words[query.WordSum])
	if kind := l.Value.Kind; kind == reader.Int || kind == reader.Float {
		sum.SetInt64(int64(words[query.WordSum]))
	}
	squares := new(big.Int).SetUint64(words[at+1])
	squares.Lsh(squares, 64).Add(squares, new(big.Int).SetUint64(words[at]))
	n := new(big.Int).SetUint64(words[query.WordCount])

	// n² times the variance is n times the sum of squares, less the square of the sum.
	scaled := squares.Mul(squares, n)
	scaled.Sub(scaled, sum.Mul(sum, sum))
	if scaled.Sign() < 0 {
		scaled.SetInt64(0) // sums that wrapped around
	}
	root, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(128).SetInt(scaled)).Float64()
	stddev := root / float64(words[query.WordCount])
	switch {
	case l.Value.Meaning == reader.Duration:
		return time.Duration(math.Round(stddev))
	case l.Value.Kind == reader.Float:
		return math.Ldexp(stddev, -query.SumFraction)
	}
	return stddev
}
