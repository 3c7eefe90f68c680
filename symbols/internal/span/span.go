// Package span finds, of intervals that overlap, the one that counts at a number.
package span

import (
	"cmp"
	"slices"
)

// Span is an interval from Low to just below High. Where spans overlap, the one with
// the greatest Rank counts; of equal ranks the one that begins last; then the one with
// the greatest ID.
type Span struct {
	Low, High uint64
	Rank, ID  uint32
}

// none is the ID of gaps. No span may have it.
const none = ^uint32(0)

// Table is a list of spans, cut so that they do not overlap.
type Table struct {
	starts []uint64
	ids    []uint32 // none for gaps
}

// New returns the table of spans, which it reorders. It takes time n log n.
func New(spans []Span) *Table {
	spans = slices.DeleteFunc(spans, func(s Span) bool { return s.High <= s.Low })
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Low, b.Low) })
	t := &Table{starts: make([]uint64, 0, len(spans)), ids: make([]uint32, 0, len(spans))}
	var open active
	for at := uint64(0); len(spans) > 0 || len(open) > 0; {
		for len(open) > 0 && open[0].High <= at {
			open.pop()
		}
		if len(open) == 0 {
			if len(spans) == 0 {
				t.add(at, none)
				break
			}
			if spans[0].Low > at {
				t.add(at, none)
				at = spans[0].Low
			}
		}
		for len(spans) > 0 && spans[0].Low <= at {
			open.push(spans[0])
			spans = spans[1:]
		}
		t.add(at, open[0].ID)
		at = open[0].High
		if len(spans) > 0 {
			at = min(at, spans[0].Low)
		}
	}
	t.starts, t.ids = slices.Clip(t.starts), slices.Clip(t.ids)
	return t
}

func (t *Table) add(start uint64, id uint32) {
	switch n := len(t.ids); {
	case n > 0 && t.ids[n-1] == id, n == 0 && id == none:
	case n > 0 && t.starts[n-1] == start:
		t.ids[n-1] = id
	default:
		t.starts, t.ids = append(t.starts, start), append(t.ids, id)
	}
}

// Find returns the ID of the span that counts at x. ok is false if none holds x.
func (t *Table) Find(x uint64) (id uint32, ok bool) {
	if t == nil {
		return 0, false
	}
	lo, hi := 0, len(t.starts)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); t.starts[mid] <= x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || t.ids[lo-1] == none {
		return 0, false
	}
	return t.ids[lo-1], true
}

// Size returns the number of bytes of memory that the table takes.
func (t *Table) Size() int64 {
	if t == nil {
		return 0
	}
	return int64(12 * cap(t.starts))
}

// active is a heap of the spans that hold a number, the one that counts first. It is
// not one of package heap, which allocates for each span.
type active []Span

// before reports whether span i counts more than span j.
func (a active) before(i, j int) bool {
	x, y := &a[i], &a[j]
	return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Low, y.Low), cmp.Compare(x.ID, y.ID)) > 0
}

func (a *active) push(s Span) {
	*a = append(*a, s)
	h := *a
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (a *active) pop() {
	h := *a
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	*a = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && h.before(child+1, child) {
			child++
		}
		if !h.before(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
