package list

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is a column of a table, and how it gives way where a terminal is narrow.
type column struct {
	name  string
	below bool // its cells move below their rows, whole
	least int  // it keeps so many characters; 0 for all
	drop  bool // it is left out when the others are at their least and do not fit
	last  bool // it becomes narrower only then
	end   bool // the end of its cells is kept, as of paths
	right bool // its cells are numbers
}

// table is a table that fits a terminal.
type table struct {
	columns []column
	rows    [][]string
	width   int // of the terminal; 0 for none
}

// without leaves out a column.
func (t *table) without(name string) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	t.columns = slices.Delete(t.columns, i, i+1)
	for n := range t.rows {
		t.rows[n] = slices.Delete(t.rows[n], i, i+1)
	}
}

// gap is between columns.
const gap = "  "

// maxPadded is the most characters of a column where no terminal limits it: one symbol of C++ with
// thousands of characters would make every line as long.
const maxPadded = 100

// write writes the table: its names, and a line for each row.
func (t *table) write(w io.Writer) error {
	widths := t.fit()
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	b := bufio.NewWriter(w)
	b.WriteString(t.line(names, widths))
	for _, row := range t.rows {
		b.WriteString(t.line(row, widths))
		for i, c := range t.columns {
			if c.below && widths[i] < 0 && row[i] != "-" && row[i] != "" {
				b.WriteString(wrapped(row[i], t.width))
			}
		}
	}
	return b.Flush()
}

// fit returns the widths of columns, negative for what is left out.
func (t *table) fit() []int {
	widths := make([]int, len(t.columns))
	room := t.width + len(gap)
	for i, c := range t.columns {
		widths[i] = len(c.name)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		room -= widths[i] + len(gap)
	}
	if t.width == 0 {
		for i := range widths {
			widths[i] = min(widths[i], maxPadded)
		}
		return widths
	}
	whole := slices.Clone(widths)
	each := func(give func(c *column, i int)) {
		for i := len(widths) - 1; i >= 0; i-- {
			if room < 0 && widths[i] > 0 {
				give(&t.columns[i], i)
			}
		}
	}
	leave := func(i int) {
		room += widths[i] + len(gap)
		widths[i] = -1
	}
	narrow := func(c *column, i int) {
		if less := min(-room, widths[i]-max(c.least, len(c.name))); c.least > 0 && less > 0 {
			widths[i] -= less
			room += less
		}
	}
	if room < 0 {
		for i, c := range t.columns {
			if c.below {
				leave(i)
			}
		}
	}
	each(func(c *column, i int) {
		if !c.last {
			narrow(c, i)
		}
	})
	each(func(c *column, i int) {
		if c.drop {
			leave(i)
		}
	})
	each(narrow)
	for i := range widths { // what a column that was left out has freed
		if more := min(room, whole[i]-widths[i]); more > 0 && widths[i] > 0 {
			widths[i] += more
			room -= more
		}
	}
	return widths
}

// line returns a line of cells.
func (t *table) line(cells []string, widths []int) string {
	line := ""
	for i, cell := range cells {
		switch c := &t.columns[i]; {
		case widths[i] < 0:
		case c.right:
			line += fmt.Sprintf("%*s"+gap, widths[i], cell)
		default:
			if t.width > 0 {
				cell = shorten(cell, widths[i], c.end)
			}
			line += fmt.Sprintf("%-*s"+gap, widths[i], cell)
		}
	}
	line = strings.TrimRight(line, " ")
	if t.width > 0 {
		line = shorten(line, t.width, false)
	}
	return line + "\n"
}

// shorten returns a text of at most so many characters: its beginning, or its end.
func shorten(text string, width int, end bool) string {
	r := []rune(text)
	switch {
	case len(r) <= width:
		return text
	case end:
		return "…" + string(r[len(r)-width+1:])
	}
	return string(r[:width-1]) + "…"
}

// wrapped returns the lines of a text below a row, broken between words.
func wrapped(text string, width int) string {
	const indent = "    "
	lines, line := "", ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(indent+line+word) > width {
			lines += indent + strings.TrimRight(line, " ") + "\n"
			line = gap
		}
		line += word + " "
	}
	return lines + indent + strings.TrimRight(line, " ") + "\n"
}
