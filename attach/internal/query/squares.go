package query

import (
	"math/bits"

	"github.com/go-usdt/usdt/reader"
)

// Square returns the 128 bits of the square of what a value adds to the sum.
func Square(sum uint64, kind reader.FieldKind) (hi, lo uint64) {
	if SumSigned(kind) && int64(sum) < 0 {
		sum = -sum
	}
	return bits.Mul64(sum, sum)
}

// SumSigned reports whether what is added to the sum has a sign.
func SumSigned(kind reader.FieldKind) bool { return kind == reader.Int || kind == reader.Float }

// AddSquares adds two words, the lower first, to two others.
func AddSquares(sum []uint64, lo, hi uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], lo, 0)
	sum[1], _ = bits.Add64(sum[1], hi, carry)
}
