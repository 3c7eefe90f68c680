package perfetto

import (
	"slices"
	"sort"
)

// intervals are the times of slices that stand on a track one after the other, in order.
type intervals []interval

type interval struct {
	began, ended uint64
	solid        bool // it was of several slices, or had some within it
}

// maxIntervals bounds the memory of a track. When there are more, the older half is
// remembered less exactly: few slices begin so long before they end.
const maxIntervals = 128

// add adds a slice, and reports whether it overlaps with none. It may begin when another one
// ends, but not end when another one begins: readers take events of the same time in the
// order in which they are written.
func (all *intervals) add(began, ended uint64) bool {
	v := *all
	at := sort.Search(len(v), func(i int) bool { return v[i].ended > began })
	if at < len(v) && v[at].began <= ended {
		return false
	}
	v = slices.Insert(v, at, interval{began: began, ended: ended})
	if len(v) > maxIntervals {
		v = slices.Replace(v, 0, maxIntervals/2, pairs(v[:maxIntervals/2])...)
	}
	*all = v
	return true
}

// pairs makes one interval of each two, with the time between them.
func pairs(v []interval) []interval {
	n := 0
	for i := 0; i < len(v); i += 2 {
		both := v[i]
		if i+1 < len(v) {
			both = interval{both.began, max(both.ended, v[i+1].ended), true}
		}
		v[n] = both
		n++
	}
	return v[:n]
}
