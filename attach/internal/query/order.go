package query

import (
	"math"

	"github.com/go-usdt/usdt/attach/internal/filter"
	"github.com/go-usdt/usdt/reader"
)

// Order returns the order key of a value: a number whose unsigned order is the value's.
func (in *Input) Order(bits uint64) uint64 {
	switch in.Kind {
	case reader.Float:
		return uint64(filter.FloatOrder(bits)) ^ 1<<63
	case reader.Int:
		return bits ^ 1<<63
	}
	return bits
}

// Wide returns the bits of a value with those of a floating-point number as one of 64 bits: a
// number of 32 bits has them in its upper half.
func (in *Input) Wide(bits uint64) uint64 {
	if in.Kind == reader.Float && in.Size == 4 {
		return math.Float64bits(float64(math.Float32frombits(uint32(bits >> 32))))
	}
	return bits
}
