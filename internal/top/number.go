package top

import (
	"fmt"
	"strconv"
)

// number writes n with three digits or four, and the unit k, M, G or T for thousands
// of any power.
func number(n float64) string {
	if n < 10 && n != float64(int64(n)) {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	unit := 0
	for ; n >= 9999.5 && unit < 4; unit++ {
		n /= 1000
	}
	switch {
	case unit == 0 || n >= 99.95:
		return fmt.Sprintf("%.0f%s", n, units[unit])
	case n >= 9.995:
		return fmt.Sprintf("%.1f%s", n, units[unit])
	}
	return fmt.Sprintf("%.2f%s", n, units[unit])
}

var units = [...]string{"", "k", "M", "G", "T"}

// bars draws the last rates in so many columns, the highest of them as a full block.
func bars(rates []float64, columns int) string {
	rates = rates[max(0, len(rates)-columns):]
	most := 0.0
	for _, r := range rates {
		most = max(most, r)
	}
	out := make([]rune, 0, columns)
	for range columns - len(rates) {
		out = append(out, ' ')
	}
	for _, r := range rates {
		switch {
		case r == 0:
			out = append(out, '.')
		default:
			out = append(out, []rune("▁▂▃▄▅▆▇█")[min(7, int(r/most*8))])
		}
	}
	return string(out)
}
