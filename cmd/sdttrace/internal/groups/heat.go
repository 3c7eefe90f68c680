package groups

import (
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/total"
)

// intervals is of how many intervals a heat line shows the values.
const intervals = 10

// heats are the histograms of groups in the last intervals, by their keys.
type heats map[string][][]total.Bucket

// add takes the groups of an interval, and returns the histogram of each over the last intervals.
// Groups that are not among them are forgotten.
func (h *heats) add(groups []total.Group) (rows [][]total.Bucket) {
	kept := heats{}
	for i := range groups {
		key := format.KeyOf(&groups[i])
		past := append((*h)[key], groups[i].Hist)
		kept[key] = past[max(0, len(past)-intervals):]
		var sum []total.Bucket
		for _, hist := range kept[key] {
			sum = format.AddBuckets(sum, hist)
		}
		rows = append(rows, sum)
	}
	*h = kept
	return rows
}

// shades are what part of a line's fullest column others have.
var shades = []rune("░▒▓█")

// heatLines draws histograms as lines of so many columns at most, in which equal values have equal
// places. It returns the first and the last bound; no lines if there are no values.
func heatLines(rows [][]total.Bucket, columns int) (lines []string, lo, hi float64) {
	var all []total.Bucket
	for _, hist := range rows {
		all = format.AddBuckets(all, hist)
	}
	if len(all) == 0 {
		return nil, 0, 0
	}
	place := map[float64]int{}
	columns = min(columns, len(all))
	for i, b := range all {
		place[b.Lo] = i * columns / len(all)
	}
	for _, hist := range rows {
		sums, most := make([]uint64, columns), uint64(1)
		for _, b := range hist {
			at := place[b.Lo]
			sums[at] += b.N
			most = max(most, sums[at])
		}
		line := make([]rune, columns)
		for i, n := range sums {
			line[i] = ' '
			if n > 0 {
				line[i] = shades[min(len(shades)-1, int(float64(n)/float64(most)*float64(len(shades))))]
			}
		}
		lines = append(lines, string(line))
	}
	return lines, all[0].Lo, all[len(all)-1].Hi
}
