package format

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/total"
)

// Table writes groups as rows: their numbers to the right of columns, and behind them their keys.
// Its columns only become wider, so that one line of names is above the rows of all intervals.
type Table struct {
	Keys  []string // what groups are told apart by
	Names []string // of the values, in the order of their columns
	Steps bool     // the bounds of histograms are the user's
	Of    string   // what is counted

	Width int  // of the terminal, for which keys are shortened; 0 for none
	Drawn bool // in place, each interval over the last one: the time is said elsewhere

	widths []int // of the columns in front of keys
	begun  bool
}

// Interval has the groups of an interval.
type Interval struct {
	At             time.Time
	Took           time.Duration // 0 if it is not known
	Unit           Unit          // of the value
	Groups         []total.Group
	Heat           func(columns int) []string // draws a line for each group; nil for none
	Others         int                        // groups that are left out
	Events, Hidden uint64
}

// Title says when an interval ended, and how many events or pairs it had.
func (t *Table) Title(in *Interval, layout string) string {
	of := t.Of
	if in.Events == 1 {
		of = strings.TrimSuffix(of, "s")
	}
	text := fmt.Sprintf("%s  %s %s", in.At.Format(layout), AppendCount(nil, in.Events), of)
	if took := in.Took; took > 0 {
		if took > time.Second/2 {
			took = took.Round(10 * time.Millisecond) // an interval of a timer
		}
		text += fmt.Sprintf(" in %s", AppendDuration(nil, took))
	}
	return text
}

// shortest is how much is left of keys, and of the bars of histograms, where a terminal is narrow.
const shortest = 8

// appendTable appends the rows of an interval. Those with keys have a title above, others have the
// time in their first column.
func appendTable(dst []byte, t *Table, in *Interval) []byte {
	timed := len(t.Keys) == 0 && !t.Drawn
	names := t.names()
	if timed {
		names = append([]string{"time"}, names...)
	}
	var keys []string
	var columns, stacks []int // which keys are columns, and which are below their rows
	for i, name := range t.Keys {
		if isStack(in.Groups, i) {
			stacks = append(stacks, i)
		} else {
			keys, columns = append(keys, name), append(columns, i)
		}
	}
	var rows [][]string
	for i := range in.Groups {
		g := &Group{Group: &in.Groups[i], Unit: in.Unit, Seconds: in.Took.Seconds()}
		var row []string
		for _, name := range names {
			row = append(row, g.cell(name, in.At))
		}
		rows = append(rows, append(row, g.keys(columns)...))
	}
	names, rows = t.addHeat(in, names, rows)
	if len(t.widths) != len(names) {
		t.widths = nil // the first interval, or one with heat lines
	}
	for len(t.widths) < len(names) {
		t.widths = append(t.widths, len(names[len(t.widths)]))
	}
	widths := slices.Clone(t.widths)
	for i, key := range keys {
		widths = append(widths, utf8.RuneCountInString(printable.String(key)))
		keys[i] = printable.String(key)
	}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	copy(t.widths, widths)
	if t.Width > 0 {
		shorten(widths, len(names), t.Width)
	}
	switch {
	case t.Drawn:
	case !timed:
		if t.begun {
			dst = append(dst, '\n')
		}
		dst = append(append(dst, t.Title(in, "15:04:05.000000")...), '\n')
	}
	if len(rows) > 0 && (!t.begun || t.Drawn) {
		dst = appendRow(dst, append(names, keys...), widths, len(names))
		t.begun = true
	}
	for i, row := range rows {
		dst = appendRow(dst, row, widths, len(names))
		g := &in.Groups[i]
		for _, i := range stacks {
			switch key := g.By[i]; {
			case g.Other && len(keys) == 0:
				dst = append(dst[:len(dst)-1], "\n\t(other)\n"...)
			case g.Other:
			case key.Err != nil:
				dst = append(AppendStack(dst[:len(dst)-1], &event.Stack{Err: key.Err}), '\n')
			default:
				if s, ok := key.Value.(*event.Stack); ok {
					dst = append(AppendStack(dst[:len(dst)-1], s), '\n')
				}
			}
		}
		dst = AppendHist(dst, g, in.Unit, t.Steps, t.Width)
	}
	if in.Others > 0 {
		groups := "groups"
		if in.Others == 1 {
			groups = "group"
		}
		dst = fmt.Appendf(dst, "... %d more %s, %s %s\n", in.Others, groups, AppendCount(nil, in.Hidden), t.Of)
	}
	return dst
}

// widestHeat is the most columns of a heat line; one of less than narrowestHeat says nothing.
const widestHeat, narrowestHeat = 16, 5

// addHeat adds the column of heat lines behind the numbers. It has a third of what these leave
// of a line.
func (t *Table) addHeat(in *Interval, names []string, rows [][]string) ([]string, [][]string) {
	room := t.Width
	for i, name := range names {
		width := len(name)
		for _, row := range rows {
			width = max(width, utf8.RuneCountInString(row[i]))
		}
		room -= width + 2
	}
	columns := min(room/3, widestHeat)
	if in.Heat == nil || columns < narrowestHeat {
		return names, rows
	}
	lines := in.Heat(columns)
	if len(lines) == 0 {
		return names, rows
	}
	for i, line := range lines {
		rows[i] = slices.Insert(rows[i], len(names), line)
	}
	return append(names, "heat"), rows
}

// names returns the names of the columns in front of keys: the count first unless it has another
// place, and sums of a second behind sums.
func (t *Table) names() (names []string) {
	if !slices.Contains(t.Names, "count") {
		names = []string{"count"}
	}
	for _, name := range t.Names {
		names = append(names, name)
		if name == "sum" && t.rate() {
			names = append(names, "sum_rate")
		}
	}
	return names
}

// rate reports whether rates are shown.
func (t *Table) rate() bool { return slices.Contains(t.Names, "rate") }

// isStack reports whether the key of an index is a stack, which stands below the row.
func isStack(groups []total.Group, i int) bool {
	return slices.ContainsFunc(groups, func(g total.Group) bool {
		_, ok := g.By[i].Value.(*event.Stack)
		return ok
	})
}

// cell returns a number of a group.
func (g *Group) cell(name string, at time.Time) string {
	u := unitOf(g.Unit, g.Group)
	switch name {
	case "time":
		return at.Format("15:04:05.000000")
	case "count":
		return string(AppendCount(nil, g.Count))
	case "rate":
		return string(AppendShort(nil, g.rate(), 4)) + "/s"
	case "sum_rate":
		if rate, ok := g.sumRate(); ok {
			return string(u.appendRate(nil, rate)) + "/s"
		}
		return "-"
	}
	value := g.Value(name)
	if value == nil || g.Count == 0 {
		return "-"
	}
	if _, fraction := value.(float64); fraction {
		return string(u.appendMean(nil, value))
	}
	return string(u.append(nil, value))
}

// keys returns those keys of a group that are columns.
func (g *Group) keys(columns []int) []string {
	if g.Other {
		return append([]string{"(other)"}, make([]string, len(columns))...)[:len(columns)]
	}
	var keys []string
	for _, i := range columns {
		keys = append(keys, string(AppendValue(nil, &g.By[i])))
	}
	return keys
}

// shorten takes from the widest keys what a terminal has no columns for.
func shorten(widths []int, numbers, columns int) {
	for _, w := range widths {
		columns -= w + 2
	}
	for keys := widths[numbers:]; columns < -2 && len(keys) > 0; columns++ {
		widest := 0
		for i := range keys {
			if keys[i] > keys[widest] {
				widest = i
			}
		}
		if keys[widest] <= shortest {
			return
		}
		keys[widest]--
	}
}

// appendRow appends a line: numbers to the right, and keys to the left, of their columns.
func appendRow(dst []byte, row []string, widths []int, numbers int) []byte {
	for i, cell := range row {
		if i > 0 {
			dst = append(dst, "  "...)
		}
		if i < numbers {
			dst = fmt.Appendf(dst, "%*s", widths[i], cell)
		} else if r := []rune(cell); len(r) > widths[i] {
			dst = append(append(dst, string(r[:widths[i]-1])...), "…"...)
		} else if i < len(row)-1 {
			dst = fmt.Appendf(dst, "%-*s", widths[i], cell)
		} else {
			dst = append(dst, cell...)
		}
	}
	return append(dst, '\n')
}

// AppendHist appends the histogram of a group, a line for each bucket, in so many columns of a terminal.
func AppendHist(dst []byte, g *total.Group, u Unit, steps bool, columns int) []byte {
	hist, most, widths := joinEmpty(g.Hist), uint64(1), [3]int{6, 6, 7}
	u = unitOf(u, g)
	var rows [][3]string
	for _, b := range hist {
		most = max(most, b.N)
		rows = append(rows, [3]string{u.Bound(b.Lo, steps), u.Bound(b.Hi, steps), string(AppendCount(nil, b.N))})
		for i, cell := range rows[len(rows)-1] {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	longest := 40
	if columns > 0 {
		longest = min(longest, max(shortest, columns-len("   -   |")-widths[0]-widths[1]-widths[2]))
	}
	for i, row := range rows {
		bar := strings.Repeat("#", int(float64(hist[i].N)/float64(most)*float64(longest)))
		dst = fmt.Appendf(dst, "  %*s - %-*s %*s |%s\n", widths[0], row[0], widths[1], row[1], widths[2], row[2], bar)
	}
	return dst
}

// joinEmpty makes one bucket of each run of many empty ones.
func joinEmpty(hist []total.Bucket) []total.Bucket {
	const many = 4
	out := make([]total.Bucket, 0, len(hist))
	for i := 0; i < len(hist); {
		run := i
		for run < len(hist) && hist[run].N == 0 {
			run++
		}
		if run-i >= many {
			out = append(out, total.Bucket{Lo: hist[i].Lo, Hi: hist[run-1].Hi})
			i = run
			continue
		}
		out = append(out, hist[i])
		i++
	}
	return out
}

// AddBuckets returns the sum of two histograms of equal bounds. Each has all buckets
// from its first to its last.
func AddBuckets(a, b []total.Bucket) []total.Bucket {
	out := make([]total.Bucket, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Lo < b[0].Lo:
			out, a = append(out, a[0]), a[1:]
		case len(a) == 0 || b[0].Lo < a[0].Lo:
			out, b = append(out, b[0]), b[1:]
		default:
			sum := a[0]
			sum.N += b[0].N
			out, a, b = append(out, sum), a[1:], b[1:]
		}
	}
	return out
}
