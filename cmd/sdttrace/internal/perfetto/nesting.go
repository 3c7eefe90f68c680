package perfetto

import (
	"cmp"
	"slices"
)

// nesting are the times of slices that stand on the track of a thread, on which they nest,
// in the order in which they end.
type nesting []interval

// maxNested bounds the memory of a track, 96 KiB, as maxIntervals does. Slices of one pair of
// probes may come thousands later than another session's: each delivers its own, when
// its goroutine has the CPU.
const maxNested = 4096

// add adds a slice, and reports whether it nests with all others. Pairs of different probes
// come late, as each session delivers its own, and need not nest.
//
// Readers take events of the same time in the order in which they are written. So a slice
// comes too late if it begins together with one within it, ends together with one around it,
// or ends when another one begins.
func (all *nesting) add(began, ended uint64) bool {
	v := *all
	at := len(v) // where the slice belongs
	for i := len(v) - 1; i >= 0 && v[i].ended > began; i-- {
		if v[i].ended > ended {
			at = i
		}
		switch o := &v[i]; {
		case ended < o.began:
		case began < o.began && o.ended <= ended: // o is within it
		case o.began <= began && ended < o.ended && !o.solid: // it is within o
		default:
			return false
		}
	}
	v = slices.Insert(v, at, interval{began: began, ended: ended})
	if len(v) > maxNested {
		v = slices.Replace(v, 0, maxNested/2, outermost(v[:maxNested/2])...)
	}
	*all = v
	return true
}

// outermost leaves out what is within others and, if that is little, makes one of each two.
func outermost(v []interval) []interval {
	slices.SortFunc(v, func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(b.ended, a.ended))
	})
	most := len(v) / 2
	n := 0
	for _, o := range v[1:] {
		if o.ended <= v[n].ended {
			v[n].solid = true
			continue
		}
		n++
		v[n] = o
	}
	if v = v[:n+1]; len(v) > most {
		return pairs(v)
	}
	return v
}
