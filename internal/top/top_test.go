package top

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// source is a Source of readings that a test has made.
type source struct {
	arguments []string
	opened    []string
	closed    int
}

func (s *source) Read() (Reading, error)    { return Reading{}, nil }
func (s *source) Arguments(string) []string { return s.arguments }

func (s *source) Events(_ context.Context, probe string, pid, sample int) (Tracing, error) {
	s.opened = append(s.opened, fmt.Sprintf("events of %s in %d, one in %d", probe, pid, sample))
	return &tracing{s}, nil
}

func (s *source) Stacks(_ context.Context, probe string, pid, sample int, unwind bool) (Tracing, error) {
	s.opened = append(s.opened, fmt.Sprintf("stacks of %s in %d, one in %d, unwound %v", probe, pid, sample, unwind))
	return &tracing{s}, nil
}

func (s *source) Unwinds(probe string) (unwind, choice bool) {
	return probe == "b:fast", probe != "a:slow"
}

func (s *source) Histogram(_ context.Context, probe, argument string, pid int) (Tracing, error) {
	s.opened = append(s.opened, fmt.Sprintf("%s of %s in %d", argument, probe, pid))
	return &tracing{s}, nil
}

type tracing struct{ s *source }

func (t *tracing) Lines(n int) []string {
	lines := []string{"a line"}
	for i := 2; i <= min(n, 20); i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	return lines
}

func (t *tracing) Close() error {
	t.s.closed++
	return nil
}

// screen is a model with readings.
func screen(t *testing.T, s *source) *model {
	t.Helper()
	m := newModel(&Options{Source: s, Interval: time.Second})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 10})
	m.readAt = time.Unix(100, 0)
	read(m, Reading{
		Probes: []string{"a:slow", "b:fast", "c:silent"}, Sites: 3,
		Counts: []Count{{"a:slow", 1, "one", 3}, {"b:fast", 1, "one", 4000}, {"b:fast", 2, "two\x1b", 8000}},
	})
	t.Cleanup(m.watches.end)
	return m
}

// read gives a model a reading of two seconds.
func read(m *model, r Reading) { m.Update(readMsg{reading: r, at: m.readAt.Add(2 * time.Second)}) }

var special = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "up": {Code: tea.KeyUp},
	"backspace": {Code: tea.KeyBackspace}, "space": {Code: tea.KeySpace, Text: " "}, "end": {Code: tea.KeyEnd},
}

// press presses keys, and reports whether the last one ends the program.
func press(m *model, keys ...string) (quits bool) {
	for _, name := range keys {
		k, ok := special[name]
		if !ok {
			k = tea.Key{Code: []rune(name)[0], Text: name}
		}
		_, cmd := m.Update(tea.KeyPressMsg(k))
		quits = cmd != nil && cmd() == tea.Quit()
	}
	return quits
}

// probes returns the probes that the screen shows, in order.
func probes(m *model) string {
	var names []string
	for _, w := range m.rows {
		names = append(names, fmt.Sprintf("%s/%d", w.probe, w.pid))
	}
	return strings.Join(names, " ")
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"r"}, "c:silent/0 a:slow/0 b:fast/0"},
		{[]string{"n"}, "a:slow/0 b:fast/0 c:silent/0"},
		{[]string{"n", "n"}, "c:silent/0 b:fast/0 a:slow/0"},
		{[]string{"t"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"o"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"i"}, "b:fast/0 a:slow/0"},
		{[]string{"i", "i"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"p"}, "b:fast/2 b:fast/1 a:slow/1"},
		{[]string{"/", "S"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"/", "S", "L"}, "a:slow/0"},
		{[]string{"/", "s", "l", "backspace", "i"}, "c:silent/0"},
		{[]string{"/", "s", "l", "esc"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"/", "s", "l", "enter", "esc"}, "b:fast/0 a:slow/0 c:silent/0"},
		{[]string{"p", "/", "t", "w", "o", "enter"}, "b:fast/2"},
	} {
		m := screen(t, &source{})
		press(m, c.keys...)
		if got := probes(m); got != c.want {
			t.Errorf("after %q: %s, want %s", c.keys, got, c.want)
		}
	}
}

// TestRates checks the numbers of a table, and that silence ends a rate.
func TestRates(t *testing.T) {
	m := screen(t, &source{})
	text := m.View().Content
	for _, want := range []string{"6002 events/s, 12.0k in all", "3 probes at 3 sites", "    6000    12.0k      2  ", "     1.5        3      1  "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	read(m, Reading{Probes: []string{"a:slow", "b:fast", "c:silent"}})
	if w := m.table.byProbe[key{probe: "b:fast"}]; w.rate != 0 || w.total != 12000 || bars(w.past, trend) != strings.Repeat(" ", trend-2)+"█." {
		t.Errorf("after silence: %v events/s, %d, %q", w.rate, w.total, bars(w.past, trend))
	}
}

// TestNarrow checks that the trend shrinks before names are cut, and goes where nothing is left for it.
func TestNarrow(t *testing.T) {
	name := "postgresql:transaction__start"
	for _, c := range []struct{ width, columns int }{{120, trend}, {len(name) + 28 + 8, 8}, {60, 0}, {40, 0}} {
		for _, byProcess := range []int{0, len(" 4711 postgres        ") - len(" PROCS")} {
			m := screen(t, &source{})
			m.perProcess = byProcess > 0
			read(m, Reading{Counts: []Count{{name, 4711, "postgres", 5}}})
			m.Update(tea.WindowSizeMsg{Width: c.width + byProcess, Height: 10})
			text := m.View().Content
			if got := strings.Contains(text, "TREND"); got != (c.columns > 0) {
				t.Errorf("%d columns: a trend is %v in\n%s", c.width, got, text)
			}
			if want := strings.Repeat(" ", max(0, c.columns-1)) + "█  " + name; c.columns > 0 && !strings.Contains(text, want) {
				t.Errorf("%d columns: %q is not in\n%s", c.width, want, text)
			}
		}
	}
}

// TestSelection checks that the chosen probe stays chosen when rows change places.
func TestSelection(t *testing.T) {
	s := &source{}
	m := screen(t, s)
	press(m, "down")
	read(m, Reading{Counts: []Count{{"a:slow", 1, "one", 60000}}})
	if got := probes(m); got != "a:slow/0 b:fast/0 c:silent/0" {
		t.Fatalf("rows %s", got)
	}
	press(m, "enter")
	m.watches.end()
	press(m, "esc", "end", "enter")
	m.watches.end()
	if got, want := strings.Join(s.opened, "; "), "events of a:slow in 0, one in 30; events of c:silent in 0, one in 1"; got != want {
		t.Errorf("opened %s, want %s", got, want)
	}
	if s.closed != 2 {
		t.Errorf("closed %d, want 2", s.closed)
	}
}

func TestHistogramMenu(t *testing.T) {
	for _, c := range []struct {
		arguments, keys []string
		want            string
	}{
		{[]string{"x", "y"}, []string{"h", "down", "enter"}, "y of b:fast in 0"},
		{[]string{"x", "y"}, []string{"p", "h", "2"}, "y of b:fast in 2"},
		{[]string{"x"}, []string{"h"}, "x of b:fast in 0"},
		{nil, []string{"h", "enter"}, ""},
		{[]string{"x", "y"}, []string{"h", "esc"}, ""},
	} {
		s := &source{arguments: c.arguments}
		m := screen(t, s)
		press(m, c.keys...)
		m.watches.working.Wait()
		if got := strings.Join(s.opened, "; "); got != c.want {
			t.Errorf("%q of %q: opened %q, want %q", c.keys, c.arguments, got, c.want)
		}
		if text := m.View().Content; c.want != "" && !strings.Contains(text, "a line") {
			t.Errorf("%q: the histogram is not on the screen:\n%s", c.keys, text)
		}
	}
}

// TestStacks checks which stacks are asked for, and that they are scrolled through.
func TestStacks(t *testing.T) {
	s := &source{}
	m := screen(t, s)
	for _, key := range []string{"s", "s", "enter", "s"} {
		press(m, key)
		m.watches.working.Wait()
	}
	const want = "stacks of b:fast in 0, one in 60, unwound true; stacks of b:fast in 0, one in 6, unwound false; " +
		"events of b:fast in 0, one in 6; stacks of b:fast in 0, one in 60, unwound true"
	if got := strings.Join(s.opened, "; "); got != want {
		t.Errorf("opened %s, want %s", got, want)
	}
	press(m, "esc", "down", "s", "s") // of which there are no others
	m.watches.working.Wait()
	if got := strings.TrimPrefix(strings.Join(s.opened, "; "), want+"; "); got != "stacks of a:slow in 0, one in 1, unwound false" {
		t.Errorf("then opened %s", got)
	}
	for _, c := range []struct{ key, first, absent string }{{"up", "a line", "line 7"}, {"down", "line 2", "a line"}, {"end", "line 2", "a line"}} {
		press(m, c.key)
		if text := m.View().Content; !strings.Contains(text, c.first+"\n") || strings.Contains(text, c.absent) {
			t.Errorf("after %s: want %q and not %q in\n%s", c.key, c.first, c.absent, text)
		}
	}
	for range 50 {
		press(m, "down")
	}
	if text := m.View().Content; !strings.Contains(text, "line 20\n") || !strings.Contains(text, "line 15\n") {
		t.Errorf("scrolled to the end:\n%s", text)
	}
	if press(m, "up"); !strings.Contains(m.View().Content, "line 14\n") {
		t.Errorf("scrolled one line back:\n%s", m.View().Content)
	}
}

// TestPause checks that what is paused stands still, and goes on with all that was
// counted meanwhile.
func TestPause(t *testing.T) {
	m := screen(t, &source{})
	press(m, "space")
	before := m.drawTable(6)
	read(m, Reading{Counts: []Count{{"c:silent", 1, "one", 60000}}})
	if after := m.drawTable(6); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("paused, the table changes from\n%q to\n%q", before, after)
	}
	press(m, "space")
	if got, want := probes(m), "c:silent/0 b:fast/0 a:slow/0"; got != want {
		t.Errorf("then %s, want %s", got, want)
	}
}

// TestScreen checks that the screen is never higher than the terminal, and that what
// programs chose as their names is escaped.
func TestScreen(t *testing.T) {
	m := screen(t, &source{})
	press(m, "p")
	if text := m.View().Content; !strings.Contains(text, `two\x1b`) {
		t.Errorf("the name of process 2 is not escaped:\n%q", text)
	}
	for height := 1; height < 12; height++ {
		m.Update(tea.WindowSizeMsg{Width: 20, Height: height})
		if n := strings.Count(m.View().Content, "\n") + 1; n != height {
			t.Errorf("%d lines on %d", n, height)
		}
	}
}

func TestQuit(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want bool
	}{
		{[]string{"q"}, true},
		{[]string{"enter", "q"}, true},
		{[]string{"h", "q"}, true},
		{[]string{"/", "q"}, false},
	} {
		if got := press(screen(t, &source{arguments: []string{"x", "y"}}), c.keys...); got != c.want {
			t.Errorf("%q ends %v, want %v", c.keys, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want string
	}{{0, "0"}, {1.25, "1.2"}, {9, "9"}, {12.6, "13"}, {9999, "9999"}, {10000, "10.0k"}, {123456, "123k"}, {9.9996e6, "10.0M"}, {1.5e9, "1500M"}, {1.5e10, "15.0G"}} {
		if got := number(c.n); got != c.want {
			t.Errorf("number(%v) = %s, want %s", c.n, got, c.want)
		}
	}
}

// TestForgets checks that short-lived processes do not use up memory.
func TestForgets(t *testing.T) {
	var b table
	for pid := 1; pid <= 3*maxRows; pid += 1000 {
		var r Reading
		for i := range 1000 {
			r.Counts = append(r.Counts, Count{"a:b", pid + i, "x", 1})
		}
		b.add(&r, time.Second)
	}
	if n := len(b.byProcess); n > maxRows+trend*1000 {
		t.Errorf("%d rows", n)
	}
	if w := b.byProbe[key{probe: "a:b"}]; w.total < 3*maxRows {
		t.Errorf("%d events, want %d", w.total, 3*maxRows)
	}
}
