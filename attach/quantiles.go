package attach

import (
	"fmt"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// Quantiles returns an Aggregation that takes quantiles of an argument, in percent: 50 is
// the median, 99.9 the value that one in a thousand exceeds. The exact quantile is the
// least value that at least so many percent of all values do not exceed.
//
// Values are counted in buckets, 32 from one power of two to the next. A quantile is the
// middle of its bucket, and at most 1/64 of the exact value, 1.6 %, away from that;
// integers from -63 to 63 are exact. Floating-point numbers closer to zero than 2^-30
// count as zero, and those from 2^32 on, 4.3e9, as 2^32. A group takes 16 kB for each CPU
// if the numbers are unsigned, and 32 kB if not.
func Quantiles(arg string, percents ...float64) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Quantiles: append([]float64{}, percents...)}}
}

// checkQuantiles returns a usage error.
func checkQuantiles(percents []float64) error {
	if percents != nil && len(percents) == 0 {
		return fmt.Errorf("%w: no quantile is named, such as 99 for 99 %%", ErrAggregation)
	}
	for i, p := range percents {
		switch {
		case !(p >= 0 && p <= 100):
			return fmt.Errorf("%w: the quantile %s is not between 0 and 100 %%", ErrAggregation, plain(p))
		case slices.Contains(percents[:i], p):
			return fmt.Errorf("%w: the quantile %s is named twice", ErrAggregation, plain(p))
		}
	}
	return nil
}

// Stddev returns an Aggregation that takes the standard deviation of an argument.
func Stddev(arg string) Aggregation {
	return Aggregation{wanted: query.Computation{Value: arg, Stddev: true}}
}
