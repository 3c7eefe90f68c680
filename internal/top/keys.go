package top

import (
	"context"
	"fmt"
	"math"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// press acts on a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case m.typing:
		m.pressTyping(name, k.Text)
		return nil
	case name == "q":
		return tea.Quit
	}
	switch m.mode {
	case showTable:
		m.pressTable(name)
	case showMenu:
		m.pressMenu(name)
	default:
		m.pressWatch(name)
	}
	return nil
}

// orders are the keys that sort.
var orders = map[string]order{"r": byRate, "t": byTotal, "n": byName, "o": byProcs}

func (m *model) pressTable(name string) {
	if o, ok := orders[name]; ok {
		m.backwards = o == m.order && !m.backwards
		m.order, m.selected, m.cursor, m.rows = o, key{}, 0, nil
		return
	}
	switch name {
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-m.tableHeight())
	case "pgdown":
		m.move(m.tableHeight())
	case "home", "g":
		m.move(math.MinInt / 2)
	case "end", "G":
		m.move(math.MaxInt / 2)
	case "p":
		m.perProcess = !m.perProcess
		m.selected, m.cursor, m.rows = key{}, 0, nil
	case "i":
		m.silent, m.rows = !m.silent, nil
	case "space":
		m.paused, m.rows = !m.paused, nil
	case "/":
		m.typing, m.before, m.filter, m.rows = true, m.filter, "", nil
	case "esc":
		m.filter, m.rows = "", nil
	case "enter":
		m.showEvents()
	case "h":
		m.showArguments()
	case "s":
		if w := m.row(); w != nil {
			unwind, choice := m.Source.Unwinds(w.probe)
			m.showStacks(w, unwind, choice)
		}
	}
}

// move moves the cursor.
func (m *model) move(by int) {
	m.cursor = max(0, min(m.cursor+by, len(m.rows)-1))
	if w := m.row(); w != nil {
		m.selected = w.key
	}
}

func (m *model) pressTyping(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, m.before
	case "backspace":
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		m.typed(text)
	}
	m.selected, m.cursor, m.rows = key{}, 0, nil
}

// maxFilter is the most characters of a filter.
const maxFilter = 100

// typed appends what was typed to the filter.
func (m *model) typed(text string) {
	for _, r := range text {
		if unicode.IsPrint(r) && len(m.filter) < maxFilter {
			m.filter += string(r)
		}
	}
}

// fullRate is how many events a second are shown of a probe: one in so many that it is
// about as many as this. Nobody reads more, and the rest would cost the program.
const fullRate = 1000

// showEvents traces the selected row.
func (m *model) showEvents() {
	w := m.row()
	if w == nil {
		return
	}
	m.looked, m.selected, m.mode = w, w.key, showEvents
	m.sample = max(1, int(w.rate/fullRate))
	m.watches.open(title(w), func(ctx context.Context) (Tracing, error) {
		return m.Source.Events(ctx, w.probe, w.pid, m.sample)
	})
}

// unwoundRate is how many stacks a second are found by call frames: the kernel copies 16
// KiB of each.
const unwoundRate = 100

// showStacks shows the calls that lead to a row's probe; choice says that there is another
// way to find them.
func (m *model) showStacks(w *row, unwind, choice bool) {
	m.looked, m.selected, m.mode = w, w.key, showStacks
	m.unwind, m.choice, m.scrolled = unwind, choice, 0
	rate := float64(fullRate)
	if unwind {
		rate = unwoundRate
	}
	m.sample = max(1, int(w.rate/rate))
	m.watches.open(title(w), func(ctx context.Context) (Tracing, error) {
		return m.Source.Stacks(ctx, w.probe, w.pid, m.sample, unwind)
	})
}

// showArguments asks for the argument of a histogram, if there are several.
func (m *model) showArguments() {
	w := m.row()
	if w == nil {
		return
	}
	m.looked, m.selected, m.mode = w, w.key, showMenu
	m.menu, m.chosen = m.Source.Arguments(w.probe), 0
	if len(m.menu) == 1 {
		m.showHistogram(m.menu[0])
	}
}

func (m *model) showHistogram(argument string) {
	w := m.looked
	m.mode, m.argument = showHist, argument
	m.watches.open(fmt.Sprintf("%s of %s", argument, title(w)), func(ctx context.Context) (Tracing, error) {
		return m.Source.Histogram(ctx, w.probe, argument, w.pid)
	})
}

func (m *model) pressMenu(name string) {
	switch name {
	case "up", "k":
		m.chosen = max(0, m.chosen-1)
	case "down", "j":
		m.chosen = max(0, min(m.chosen+1, len(m.menu)-1))
	case "esc", "backspace", "left":
		m.mode = showTable
	case "enter":
		if m.chosen < len(m.menu) {
			m.showHistogram(m.menu[m.chosen])
		}
	default:
		if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(m.menu) {
			m.showHistogram(m.menu[name[0]-'1'])
		}
	}
}

// pressWatch acts on a key while events, a histogram or stacks are shown.
func (m *model) pressWatch(name string) {
	if m.mode == showStacks && m.scroll(name) {
		return
	}
	switch name {
	case "esc", "backspace", "left":
		m.watches.close()
		m.mode = showTable
	case "h":
		m.watches.close()
		m.showArguments()
	case "s":
		switch unwind, choice := m.Source.Unwinds(m.looked.probe); {
		case m.mode != showStacks:
			m.showStacks(m.looked, unwind, choice)
		case m.choice:
			m.showStacks(m.looked, !m.unwind, choice)
		}
	case "enter":
		if m.mode != showEvents {
			m.showEvents()
		}
	}
}

// scroll scrolls through stacks, and reports whether a key does that.
func (m *model) scroll(name string) bool {
	page := max(1, m.height-4)
	switch name {
	case "up", "k":
		m.scrolled--
	case "down", "j":
		m.scrolled++
	case "pgup":
		m.scrolled -= page
	case "pgdown":
		m.scrolled += page
	case "home", "g":
		m.scrolled = 0
	default:
		return false
	}
	m.scrolled = max(0, min(m.scrolled, maxScrolled))
	return true
}

// maxScrolled is how many lines are kept above the screen.
const maxScrolled = 10_000
