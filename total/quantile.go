package total

import (
	"strconv"

	"github.com/go-usdt/usdt/event"
)

// Quantile is a value that a part of all values does not exceed.
type Quantile struct {
	Percent float64 // of the values, 0 to 100
	// Value has the type of [Group.Min]. It is at most 1/64, 1.6 %, away from the
	// exact one, see attach.Quantiles.
	Value any
}

// Name returns the name of the quantile: p50, p99.9.
func (q *Quantile) Name() string {
	return "p" + strconv.FormatFloat(q.Percent, 'f', -1, 64)
}

// appendQuantiles appends quantiles as a JSON object.
func appendQuantiles(dst []byte, all []Quantile) []byte {
	named := make(event.Struct, 0, len(all))
	for i := range all {
		named = append(named, event.Arg{Name: all[i].Name(), Value: all[i].Value})
	}
	return named.AppendJSON(dst)
}
