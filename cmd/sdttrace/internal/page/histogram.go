package page

import (
	"cmp"
	"math"
)

// histogram counts numbers in buckets, eight from each power of two to the next, and one by one
// as long as few are distinct: a status that is 200 or 404 has no other median.
type histogram struct {
	count    uint64
	min, max float64
	sum      float64
	buckets  map[int]uint64
	exact    map[float64]uint64 // nil if there are too many
	most     int                // how many numbers are told apart, if not maxExact
}

const (
	// maxExact bounds how many numbers are told apart.
	maxExact = 64
	// maxExactTimes bounds how many times of pairs are: there are few pairs of probes, and their largest
	// quantiles matter, which lie in wide buckets.
	maxExactTimes = 1000
)

// bucketsPerOctave is how many buckets there are from a power of two to the next.
const bucketsPerOctave = 8

// maxFloat is the largest number that JSON has: a sum may be more.
const maxFloat = math.MaxFloat64

func bitsOf(v float64) uint64 { return math.Float64bits(v) }

func (h *histogram) add(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if h.count == 0 {
		h.min, h.max, h.buckets, h.exact = v, v, map[int]uint64{}, map[float64]uint64{}
	}
	h.min, h.max = min(h.min, v), max(h.max, v)
	h.sum += v
	h.count++
	h.buckets[bucketOf(v)]++
	h.tell(v, 1)
}

// tell counts a number one by one, unless too many are distinct.
func (h *histogram) tell(v float64, n uint64) {
	if h.exact == nil {
		return
	}
	if h.exact[v] += n; len(h.exact) > cmp.Or(h.most, maxExact) {
		h.exact = nil
	}
}

// bucketOf returns the number of the bucket of v: 0 for 0, and numbers of equal size and
// another sign for negative ones. The page computes the bounds from it.
//
// A number is m·2^e with m from 1/2 to 1. The smallest e is -1073, so that e + 1074 is
// positive.
func bucketOf(v float64) int {
	if v == 0 {
		return 0
	}
	m, e := math.Frexp(math.Abs(v))
	n := (e+1074)*bucketsPerOctave + int((m-0.5)*2*bucketsPerOctave)
	if v < 0 {
		return -n
	}
	return n
}
