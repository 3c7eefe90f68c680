package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Options say what [Run] shows, and where.
type Options struct {
	Source   Source
	Interval time.Duration // between readings
	What     string        // what is counted, for the title
	NoMatch  string        // why there is no probe, if that is known from the start
	In       io.Reader
	Out      io.Writer
}

// Run shows the screen until the user or ctx ends it. It leaves the terminal as it
// was, and what it has attached to detached from.
func Run(ctx context.Context, o Options) error {
	m := newModel(&o)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(), tea.WithFPS(30)).Run()
	m.watches.end()
	if ctx.Err() != nil && !errors.Is(err, tea.ErrProgramPanic) {
		return nil // the user, or the end of the time, wants the summary
	}
	if err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return m.err
}

// mode is what the screen shows.
type mode int

const (
	showTable  mode = iota
	showMenu        // of arguments
	showEvents      // of the selected row
	showHist
	showStacks
)

// model is the state of the screen.
type model struct {
	*Options
	width, height int

	table       table
	last        Reading
	at          time.Time // of last
	readAt      time.Time // of the reading before
	rows        []*row    // that are shown
	err         error     // that ended it
	order       order
	backwards   bool
	perProcess  bool
	silent      bool // rows that have never fired are shown
	paused      bool
	filter      string
	typing      bool // of the filter
	before      string
	selected    key // followed when rows change places
	cursor, top int // of rows: the selected one, and the first on the screen

	mode     mode
	watches  watches
	sample   int
	looked   *row // of the mode
	menu     []string
	chosen   int
	argument string // of a histogram
	unwind   bool   // stacks, by call frames
	choice   bool   // and there is another way
	scrolled int    // lines of stacks
}

func newModel(o *Options) *model {
	return &model{Options: o, width: 80, height: 24, silent: true, readAt: time.Now()}
}

// readMsg is a reading.
type readMsg struct {
	reading Reading
	at      time.Time
	err     error
}

type (
	tickMsg   struct{} // it is time to read
	redrawMsg struct{} // what is traced may have changed
)

const redraw = 200 * time.Millisecond

func (m *model) Init() tea.Cmd { return tea.Batch(m.read, m.drawAgain()) }

// wait waits until an interval has passed since the last reading.
func (m *model) wait() tea.Cmd {
	return tea.Tick(time.Until(m.readAt.Add(m.Interval)), func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *model) drawAgain() tea.Cmd {
	return tea.Tick(redraw, func(time.Time) tea.Msg { return redrawMsg{} })
}

func (m *model) read() tea.Msg {
	r, err := m.Source.Read()
	return readMsg{r, time.Now(), err}
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		return m, m.read
	case redrawMsg:
		return m, m.drawAgain()
	case readMsg:
		return m, m.take(&msg)
	case tea.PasteMsg:
		if m.typing {
			m.typed(msg.Content)
		}
	case tea.KeyPressMsg:
		cmd := m.press(msg)
		m.sort()
		return m, cmd
	}
	return m, nil
}

// take takes a reading.
func (m *model) take(msg *readMsg) tea.Cmd {
	if msg.err != nil {
		m.err = msg.err
		return tea.Quit
	}
	m.table.add(&msg.reading, msg.at.Sub(m.readAt))
	m.last, m.readAt = msg.reading, msg.at
	if !m.paused {
		m.at = msg.at
		m.sort()
	}
	return m.wait()
}

// sort puts the rows in order, and keeps the selected row selected. A paused table stands still
// until the user asks for other rows.
func (m *model) sort() {
	if !m.paused || m.rows == nil {
		m.rows = m.table.rows(m.order, m.backwards, m.perProcess, m.silent, m.filter)
		if m.paused {
			for i, w := range m.rows {
				copied := *w
				copied.past = slices.Clone(w.past)
				m.rows[i] = &copied
			}
		}
	}
	m.follow()
}

// follow finds the selected row.
func (m *model) follow() {
	if m.selected != (key{}) {
		for i, w := range m.rows {
			if w.key == m.selected {
				m.cursor = i
				return
			}
		}
	}
	m.cursor = max(0, min(m.cursor, len(m.rows)-1))
}

// row returns the selected row, nil if there is none.
func (m *model) row() *row {
	if m.cursor < len(m.rows) {
		return m.rows[m.cursor]
	}
	return nil
}
