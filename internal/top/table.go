package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// row is a probe, or a probe in a process.
type row struct {
	key
	comm  string
	rate  float64 // events a second, of the last interval
	total uint64
	procs int       // the processes in which the probe fired in that interval
	past  []float64 // earlier rates, and this one
	born  int       // the number of the first reading that had it
}

// key identifies a row.
type key struct {
	probe string
	pid   int // 0 for all processes
}

// trend is how many rates a row keeps.
const trend = 16

// maxRows bounds the memory for processes that come and go: rows that did not fire in
// any rate that is kept are forgotten beyond it.
const maxRows = 1 << 14

// table has what was counted, by probe and by probe and process.
type table struct {
	byProbe, byProcess map[key]*row
	readings           int
	rate               float64 // of all
	total              uint64
}

// add takes a reading that covers an interval.
func (t *table) add(r *Reading, interval time.Duration) {
	if t.byProbe == nil {
		t.byProbe, t.byProcess = map[key]*row{}, map[key]*row{}
	}
	t.readings++
	for _, rows := range []map[key]*row{t.byProbe, t.byProcess} {
		for _, w := range rows {
			w.rate, w.procs = 0, 0
		}
	}
	for _, probe := range r.Probes {
		t.row(t.byProbe, key{probe: probe})
	}
	var sum uint64
	seconds := max(interval.Seconds(), 1e-3)
	for _, c := range r.Counts {
		for _, w := range []*row{t.row(t.byProbe, key{probe: c.Probe}), t.row(t.byProcess, key{c.Probe, c.PID})} {
			w.total += c.N
			w.rate += float64(c.N) / seconds
			w.procs++
			w.comm = cmp.Or(c.Comm, w.comm)
		}
		sum += c.N
	}
	t.total += sum
	t.rate = float64(sum) / seconds
	for _, rows := range []map[key]*row{t.byProbe, t.byProcess} {
		for _, w := range rows {
			if w.past = append(w.past, w.rate); len(w.past) > trend {
				w.past = slices.Delete(w.past, 0, len(w.past)-trend)
			}
		}
	}
	t.forget(t.byProcess)
}

func (t *table) row(rows map[key]*row, k key) *row {
	w := rows[k]
	if w == nil {
		w = &row{key: k, born: t.readings}
		rows[k] = w
	}
	return w
}

// forget drops rows that have been silent, if there are too many.
func (t *table) forget(rows map[key]*row) {
	if len(rows) <= maxRows {
		return
	}
	for k, w := range rows {
		if slices.Max(w.past) == 0 {
			delete(rows, k)
		}
	}
}

// order is what rows are sorted by.
type order int

const (
	byRate order = iota
	byTotal
	byName
	byProcs
)

// rows returns the rows that a filter matches, in order. If silent is set, rows that have never
// fired are also shown.
func (t *table) rows(o order, backwards, perProcess, silent bool, filter string) []*row {
	from := t.byProbe
	if perProcess {
		from = t.byProcess
	}
	out := make([]*row, 0, len(from))
	for _, w := range from {
		if (silent || w.total > 0) && matches(w, filter) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b *row) int {
		c := 0
		switch o {
		case byRate:
			c = cmp.Compare(b.rate, a.rate)
		case byTotal:
			c = cmp.Compare(b.total, a.total)
		case byProcs:
			c = cmp.Compare(b.procs, a.procs)
		case byName:
			c = cmp.Compare(a.probe, b.probe)
		}
		if backwards {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(b.total, a.total), cmp.Compare(a.probe, b.probe), cmp.Compare(a.pid, b.pid))
	})
	return out
}

// matches reports whether a row's probe or process has each word of the filter.
func matches(w *row, filter string) bool {
	text := strings.ToLower(w.probe + " " + w.comm)
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
