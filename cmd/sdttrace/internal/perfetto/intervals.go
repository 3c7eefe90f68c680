package perfetto

import (
	"slices"
	"sort"
)

// intervals are the times of the slices on a track, without those within others. They are
// in order, and none overlaps with another one.
type intervals []interval

type interval struct{ began, ended uint64 }

// maxIntervals bounds the memory of a track. When there are more, pairs of the older half
// count as one, with the time between them: few slices begin so long before they end.
const maxIntervals = 128

// add adds a slice, and reports whether it has a place among the others: where there is
// none or, if it may nest, within one or around some. Readers take what is of one time in
// the order in which it is written, so that one which begins with those within it, or ends
// with the one around it, comes too late to nest.
func (all *intervals) add(began, ended uint64, nest bool) bool {
	v := *all
	from := sort.Search(len(v), func(i int) bool { return v[i].ended > began })
	to := from
	for to < len(v) && v[to].began < ended {
		to++
	}
	switch {
	case from == to:
	case !nest:
		return false
	case v[from].began <= began && ended < v[from].ended:
		// Slices are added as they end, and those on one track come of one thread, so that
		// what this one may overlap with within that one is a slice of other probes.
		return true
	case v[from].began <= began || v[to-1].ended > ended:
		return false
	}
	v = slices.Replace(v, from, to, interval{began, ended})
	if len(v) > maxIntervals {
		half := maxIntervals / 2
		for i := range half / 2 {
			v[i] = interval{v[2*i].began, v[2*i+1].ended}
		}
		v = slices.Delete(v, half/2, half)
	}
	*all = v
	return true
}
