package query

import "github.com/go-usdt/usdt/reader"

// Values are the sums that a group has. A group has only the number of events if
// Value is false.
type Values struct {
	Value, Sum, Min, Max, Hist bool
	Squares                    bool // of what is added to the sum
	Fine                       bool // buckets, for quantiles

	Division Division // of the histogram
	Bounds   int      // their number, if that is ByBounds
}

// Words of a group's value. Max holds a number whose unsigned order is that of
// the argument, and min the complement of one, so that both start from 0.
const (
	WordCount = iota
	WordSum   // of floating-point numbers: in units of 2^-20
	WordMin
	WordMax
	WordHist
)

// SumFraction is the number of fraction bits in a sum of floating-point numbers.
const SumFraction = 20

// Words is the number of 8-byte words in the value of a group, whose argument has a kind.
// The words that have names come first. Behind them are the histogram's, the two of the sum of
// squares, and the fine buckets, each only if they are wanted.
func (v *Values) Words(kind reader.FieldKind) int {
	if !v.Fine {
		return v.FineAt()
	}
	return v.FineAt() + FineBuckets(kind)
}

// MaxWords is how many words a group can have: the kernel's PCPU_MIN_UNIT_SIZE
// bounds what a map keeps for each CPU.
const MaxWords = 32 << 10 / 8

// SquaresAt returns the index of the lower of the two words of the sum of squares, -1 if
// there is none.
func (v *Values) SquaresAt() int {
	if !v.Squares {
		return -1
	}
	return v.HistEnd()
}

// FineAt returns the index of the first fine bucket.
func (v *Values) FineAt() int {
	if v.Squares {
		return v.HistEnd() + 2
	}
	return v.HistEnd()
}

// HistEnd returns the index of the word behind the histogram.
func (v *Values) HistEnd() int {
	if !v.Hist {
		return WordHist
	}
	return WordHist + v.Buckets()
}

// Merge adds the words of a group to those of another one. squares is the first of the
// words of the sum of squares, -1 without, see [Values.SquaresAt].
func Merge(sum []uint64, squares int, word func(i int) uint64) {
	for i := range sum {
		switch v := word(i); {
		case i == WordMin || i == WordMax:
			sum[i] = max(sum[i], v)
		case squares >= 0 && i == squares:
			AddSquares(sum[i:], v, word(i+1))
		case squares >= 0 && i == squares+1: // its upper half
		default:
			sum[i] += v
		}
	}
}
