package codegen

import "github.com/go-usdt/usdt/reader"

// Words is the number of 8-byte words in the value of a group, whose argument has a kind.
// Behind those that have names are the histogram's, the two of the sum of squares, and
// the fine buckets, each only if they are wanted.
func (v *Values) Words(kind reader.FieldKind) int {
	if !v.Fine {
		return v.FineAt()
	}
	return v.FineAt() + FineBuckets(kind)
}

// MaxWords is how many words a group can have: the kernel's PCPU_MIN_UNIT_SIZE (32 KiB)
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
	switch {
	case !v.Hist:
		return WordHist
	case v.Bounds > 0:
		return WordHist + v.Bounds + 1
	}
	return WordHist + HistBuckets
}
