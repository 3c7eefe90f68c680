package query

import (
	"math"
	"sort"

	"github.com/go-usdt/usdt/reader"
)

// Division is how a histogram divides numbers into buckets.
type Division uint8

const (
	ByPowers   Division = iota // of two
	ByHalves                   // of powers: from 2^(k/2) to 2^((k+1)/2)
	ByQuarters                 // likewise
	ByEighths
	ByBounds // the bounds of the computation

	Divisions // their number
)

// division is what is known of one.
type division struct {
	buckets func(v *Values, kind reader.FieldKind) int
	// bucket returns the index of the bucket of a value; bounds are order keys.
	bucket func(in *Input, bits uint64, bounds []uint64) int
	// limits returns the least number of a bucket, and the one that all of it are less than.
	limits func(i int, kind reader.FieldKind, bounds []float64) (lo, hi float64)
}

// divisions has all of them. Package codegen has a table of their programs.
var divisions = [Divisions]division{
	ByPowers:   fractions(0),
	ByHalves:   fractions(1),
	ByQuarters: fractions(2),
	ByEighths:  fractions(3),
	ByBounds: {
		func(v *Values, _ reader.FieldKind) int { return v.Bounds + 1 },
		func(in *Input, bits uint64, bounds []uint64) int {
			key := in.Order(bits)
			return sort.Search(len(bounds), func(i int) bool { return bounds[i] > key })
		},
		func(i int, _ reader.FieldKind, bounds []float64) (lo, hi float64) {
			lo, hi = math.Inf(-1), math.Inf(1)
			if i > 0 {
				lo = bounds[i-1]
			}
			if i < len(bounds) {
				hi = bounds[i]
			}
			return lo, hi
		},
	},
}

// Buckets returns the number of buckets of a histogram of numbers of a kind.
func (v *Values) Buckets(kind reader.FieldKind) int { return divisions[v.Division].buckets(v, kind) }

// Bucket returns the index of a value's bucket. bounds are order keys, see BoundsTable.
func (v *Values) Bucket(in *Input, bits uint64, bounds []uint64) int {
	return divisions[v.Division].bucket(in, bits, bounds)
}

// Limits returns the numbers between which bucket i lies: from lo to less than hi.
func (c *Computation) Limits(i int, kind reader.FieldKind) (lo, hi float64) {
	return divisions[c.division()].limits(i, kind, c.Bounds)
}

func (c *Computation) division() Division {
	if len(c.Bounds) > 0 {
		return ByBounds
	}
	return c.Division
}
