package tour

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-usdt/usdt/event"
)

// latency counts milliseconds by powers of two.
type latency struct {
	buckets [24]int // the i-th from 2^(i-10) ms up to twice that; the ends are open
	n       int
}

const firstBucket = -10 // 2^-10 ms, about 1 µs

// add counts the event's argument ms.
func (l *latency) add(ev *event.Event) {
	for i := range ev.Args {
		if ms, ok := ev.Args[i].Value.(float64); ok && ev.Args[i].Name == "ms" {
			b := math.Ilogb(max(ms, math.SmallestNonzeroFloat64)) - firstBucket
			l.buckets[min(max(b, 0), len(l.buckets)-1)]++
			l.n++
		}
	}
}

// String draws the buckets from the first to the last that is not empty.
func (l *latency) String() string {
	first, last, most := len(l.buckets), -1, 1
	for i, n := range l.buckets {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	var b strings.Builder
	for i := first; i <= last; i++ {
		lo := math.Ldexp(1, i+firstBucket)
		fmt.Fprintf(&b, "  %8.3f - %8.3f ms %6d |%s\n", lo, 2*lo, l.buckets[i], strings.Repeat("#", l.buckets[i]*40/most))
	}
	return b.String()
}
