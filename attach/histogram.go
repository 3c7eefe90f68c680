package attach

import (
	"fmt"
	"math"

	"github.com/go-usdt/usdt/internal/printable"
)

// maxBounds is the number of bounds that a histogram can have.
const maxBounds = 1001

// Linear returns the bounds of buckets from lo to hi that are step wide. The last
// bucket is narrower if step does not divide the range.
func Linear(lo, hi, step float64) ([]float64, error) {
	if !(step > 0) || !(lo < hi) || math.IsInf(hi-lo, 0) || math.IsInf(step, 0) {
		return nil, fmt.Errorf("%w: buckets from %s to %s by %s: want LO < HI and a positive step", ErrAggregation, plain(lo), plain(hi), plain(step))
	}
	// The rounding error of a step makes no bucket: 0.1 to 0.4 by 0.1 are three.
	n := max(1, math.Ceil((hi-lo)/step-1e-9))
	if n > maxBounds-1 {
		return nil, fmt.Errorf("%w: from %s to %s by %s are %.0f buckets, at most %d are possible", ErrAggregation, plain(lo), plain(hi), plain(step), n, maxBounds-1)
	}
	bounds := make([]float64, 0, int(n)+1)
	for i := range int(n) {
		bounds = append(bounds, lo+float64(i)*step)
	}
	return append(bounds, hi), nil
}

func plain(f float64) string { return string(printable.AppendFloat(nil, f)) }

// checkBounds returns a usage error.
func checkBounds(bounds []float64) error {
	if bounds == nil {
		return nil
	}
	if len(bounds) < 2 || len(bounds) > maxBounds {
		return fmt.Errorf("%w: a histogram has 2 to %d bounds, not %d", ErrAggregation, maxBounds, len(bounds))
	}
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= bounds[i-1] {
			return fmt.Errorf("%w: the bound %s of a histogram is not a number greater than the one before", ErrAggregation, plain(b))
		}
	}
	return nil
}
