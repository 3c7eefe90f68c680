package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/go-usdt/usdt/internal/printable"
)

// Escape sequences of ECMA-48, SGR: every terminal has these.
const (
	reversed = "\x1b[7m"
	bold     = "\x1b[1m"
	plain    = "\x1b[m"
)

// View draws the screen: two lines above, the keys below.
func (m *model) View() tea.View {
	lines := m.head()
	room := m.height - len(lines) - 1
	var body []string
	help := "Esc back  q quit"
	switch m.mode {
	case showTable:
		body = m.drawTable(room)
		help = m.help()
	case showMenu:
		body = m.drawMenu()
		help = "Enter choose  Esc back  q quit"
	case showEvents:
		body = m.drawWatch(room)
		help = "h histogram  s stacks  Esc back  q quit"
	case showHist:
		body = m.drawWatch(room)
		help = "Enter events  h another argument  s stacks  Esc back  q quit"
	case showStacks:
		body = m.drawWatch(room)
		help = m.helpStacks()
	}
	body = body[:min(len(body), max(0, room))]
	for len(body) < room {
		body = append(body, "")
	}
	lines = append(append(lines, body...), help)
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
	first := fmt.Sprintf("sdttrace top %s  %s  %s events/s, %s in all", m.What, at, number(m.table.rate), number(float64(m.table.total)))
	second := fmt.Sprintf("%d probes at %d sites", len(r.Probes), r.Sites)
	if r.Refused > 0 {
		second += fmt.Sprintf("; %d sites not attached: %s", r.Refused, r.Reason)
	}
	if r.Lost > 0 {
		second += fmt.Sprintf("; %d events lost", r.Lost)
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
	return []string{printable.String(first), printable.String(second)}
}

func (m *model) help() string {
	if m.typing {
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
func (m *model) tableHeight() int { return max(1, m.height-4) }

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
	rate, total, name := mark(byRate, "RATE/s"), mark(byTotal, "TOTAL"), mark(byName, "PROBE")
	head := fmt.Sprintf("%8s %8s %6s  %-*s  %s", rate, total, mark(byProcs, "PROCS"), trend, "TREND", name)
	if m.perProcess {
		head = fmt.Sprintf("%8s %8s %7s %-16s  %-*s  %s", rate, total, "PID", "COMM", trend, "TREND", name)
	}
	lines := []string{bold + head + plain}
	n := max(1, room-1)
	m.top = max(0, min(m.top, len(m.rows)-n))
	if m.cursor < m.top {
		m.top = m.cursor
	} else if m.cursor >= m.top+n {
		m.top = m.cursor - n + 1
	}
	for i := m.top; i < len(m.rows) && i < m.top+n; i++ {
		w := m.rows[i]
		line := fmt.Sprintf("%8s %8s %6d  %s  %s", number(w.rate), number(float64(w.total)), w.procs, bars(w.past), printable.String(w.probe))
		if m.perProcess {
			line = fmt.Sprintf("%8s %8s %7d %-16s  %s  %s", number(w.rate), number(float64(w.total)), w.pid, printable.String(w.comm), bars(w.past), printable.String(w.probe))
		}
		if i == m.cursor {
			line = reversed + fmt.Sprintf("%-*s", m.width, line) + plain
		}
		lines = append(lines, line)
	}
	if len(m.rows) == 0 {
		lines = append(lines, m.nothing())
	}
	return lines
}

// nothing says why there is no row.
func (m *model) nothing() string {
	switch {
	case m.filter != "":
		return "no probe matches the filter"
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
		return []string{bold + name + " has no argument that a histogram can be of" + plain}
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
