package top

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/go-usdt/usdt/internal/printable"
)

// Escape sequences of ECMA-48, SGR: every terminal has these.
const (
	reversed = "\x1b[7m"
	bold     = "\x1b[1m"
	plain    = "\x1b[m"
)

// View draws the screen: two lines above, the keys below, each in more lines if it is narrow.
func (m *model) View() tea.View {
	lines := m.head()
	help := wrap(m.help(), "  ", m.width)
	room := m.height - len(lines) - len(help)
	var body []string
	switch m.mode {
	case showTable:
		body = m.drawTable(room)
	case showMenu:
		body = m.drawMenu()
	default:
		body = m.drawWatch(room)
	}
	body = body[:min(len(body), max(0, room))]
	for len(body) < room {
		body = append(body, "")
	}
	lines = slices.Concat(lines, body, help)
	v := tea.NewView(strings.Join(lines[:min(len(lines), max(m.height, 1))], "\n"))
	v.AltScreen = true
	v.WindowTitle = "sdttrace top"
	return v
}

func (m *model) head() []string {
	r := &m.last
	at := "counting from now on"
	if !m.at.IsZero() {
		at = m.at.Format("15:04:05")
	}
	first := fmt.Sprintf("%s  %s  %s events/s, %s in all", strings.TrimSpace("sdttrace top "+m.What), at, number(m.table.rate), number(float64(m.table.total)))
	second := printable.Many(len(r.Probes), "probe", "probes") + " at " + printable.Many(r.Sites, "site", "sites")
	if r.Refused > 0 {
		second += "; " + printable.Many(r.Refused, "site", "sites") + " not attached: " + r.Reason
	}
	if r.Lost > 0 {
		second += "; " + printable.Many(r.Lost, "event", "events") + " lost"
	}
	if m.paused {
		second += "; paused"
	}
	if r.Ended {
		second += "; all processes have ended"
	}
	if r.Remark != "" {
		second += "; " + r.Remark
	}
	return append(wrap(printable.String(first), "  ", m.width), printable.String(second))
}

// wrap returns a text in lines of a width, broken at separators.
func wrap(text, separator string, width int) (lines []string) {
	parts := strings.Split(text, separator)
	line := parts[0]
	for _, part := range parts[1:] {
		if utf8.RuneCountInString(line+separator+part) <= width {
			line += separator + part
		} else {
			lines, line = append(lines, line), part
		}
	}
	return append(lines, line)
}

// help says which keys there are.
func (m *model) help() string {
	switch {
	case m.mode == showMenu:
		return "Enter choose  Esc back  q quit"
	case m.mode == showEvents:
		return "h histogram  s stacks  Esc back  q quit"
	case m.mode == showHist:
		return "Enter events  h another argument  s stacks  Esc back  q quit"
	case m.mode == showStacks:
		return m.helpStacks()
	case m.typing:
		return "show only /" + m.filter + "_  Enter keep  Esc as before"
	}
	filter := "/ filter"
	if m.filter != "" {
		filter = "/" + m.filter + "  Esc all"
	}
	return filter + "  Enter events  h histogram  s stacks  r t n o sort  p by process  i silent  Space pause  q quit"
}

func (m *model) helpStacks() string {
	other := "s by call frames  "
	switch {
	case !m.choice:
		other = ""
	case m.unwind:
		other = "s by frame pointers  "
	}
	return other + "Up Down scroll  Enter events  h histogram  Esc back  q quit"
}

// tableHeight is how many rows the screen shows.
func (m *model) tableHeight() int {
	return max(1, m.height-len(m.head())-len(wrap(m.help(), "  ", m.width))-1)
}

func (m *model) drawTable(room int) []string {
	mark := func(o order, text string) string {
		switch {
		case m.order != o:
			return text
		case m.backwards:
			return "^" + text
		}
		return "v" + text
	}
	longest := len("vPROBE")
	n := max(1, room-1)
	m.top = max(0, min(m.top, len(m.rows)-n))
	if m.cursor < m.top {
		m.top = m.cursor
	} else if m.cursor >= m.top+n {
		m.top = m.cursor - n + 1
	}
	shown := m.rows[m.top:min(m.top+n, len(m.rows))]
	for _, w := range shown {
		longest = max(longest, utf8.RuneCountInString(printable.String(w.probe)))
	}
	line := func(rate, total, process, trend, name string) string {
		return fmt.Sprintf("%8s %8s %s%s  %s", rate, total, process, trend, name)
	}
	process := fmt.Sprintf("%6s", mark(byProcs, "PROCS"))
	if m.perProcess {
		process = fmt.Sprintf("%7s %-16s", "PID", "COMM")
	}
	rate, total, name := mark(byRate, "RATE/s"), mark(byTotal, "TOTAL"), mark(byName, "PROBE")
	columns := trendColumns(m.width - len(line("", "", process, "", "")) - 2 - longest)
	head := ""
	if columns > 0 {
		head = fmt.Sprintf("  %-*s", columns, "TREND")
	}
	lines := []string{bold + line(rate, total, process, head, name) + plain}
	for i, w := range shown {
		process, past := fmt.Sprintf("%6d", w.procs), ""
		if m.perProcess {
			process = fmt.Sprintf("%7d %-16s", w.pid, printable.String(w.comm))
		}
		if columns > 0 {
			past = "  " + bars(w.past, columns)
		}
		line := line(number(w.rate), number(float64(w.total)), process, past, printable.String(w.probe))
		if m.top+i == m.cursor {
			line = reversed + fmt.Sprintf("%-*s", m.width, line) + plain
		}
		lines = append(lines, line)
	}
	if len(m.rows) == 0 {
		lines = append(lines, wrap(m.nothing(), " ", m.width)...)
	}
	return lines
}

// trendColumns returns how wide the trend is if there is so much room beside the names: none where
// its own name does not fit.
func trendColumns(room int) int {
	if room < len("TREND") {
		return 0
	}
	return min(room, trend)
}

// nothing says why there is no row.
func (m *model) nothing() string {
	switch {
	case m.filter != "":
		return "no probe matches the filter"
	case m.NoMatch != "" && len(m.table.byProbe) == 0:
		return printable.String(m.NoMatch)
	case m.perProcess || !m.silent:
		return "nothing has fired yet"
	}
	return "no probe yet: they appear as soon as a program that has some runs"
}

// title names a row.
func title(w *row) string {
	if w.pid != 0 {
		return fmt.Sprintf("%s in process %d", w.probe, w.pid)
	}
	return w.probe
}

func (m *model) drawMenu() []string {
	name := printable.String(title(m.looked))
	if len(m.menu) == 0 {
		return []string{bold + name + plain, "has no argument that a histogram can be of"}
	}
	lines := []string{bold + "Histogram of which argument of " + name + "?" + plain}
	for i, a := range m.menu {
		line := fmt.Sprintf("%d  %s", i+1, printable.String(a))
		if i == m.chosen {
			line = reversed + line + plain
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *model) drawWatch(room int) []string {
	w := m.watches.current
	if w == nil {
		return nil
	}
	text := fmt.Sprintf("%s  %s/s", w.title, number(m.looked.rate))
	if m.mode == showStacks {
		by := "frame pointers"
		if m.unwind {
			by = "call frames"
		}
		text += "  stacks by " + by
	}
	if m.mode != showHist && m.sample > 1 {
		text += fmt.Sprintf("  one event in %d is recorded", m.sample)
	}
	room = max(1, room-1)
	if m.mode != showStacks {
		return append([]string{bold + printable.String(text) + plain}, w.lines(room)...)
	}
	lines := w.lines(room + m.scrolled)
	m.scrolled = max(0, min(m.scrolled, len(lines)-room))
	return append([]string{bold + printable.String(text) + plain}, lines[m.scrolled:]...)
}
