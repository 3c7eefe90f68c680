// Package screen draws text in place on a terminal, frame after frame.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/printable"
)

// Screen is a part of a terminal, at its cursor, in which each frame takes the place of
// the last one. Methods of nil do nothing.
type Screen struct {
	mu    sync.Mutex // of what follows
	out   *os.File
	title string
	lines [][]byte // of the frame
	drawn int      // lines that stand above the cursor
}

// Control sequences of ECMA-48, and of DEC for the end of lines.
const (
	eraseToEndOfLine   = "\x1b[K"
	eraseToEndOfScreen = "\x1b[J"
	eraseScreen        = "\x1b[H\x1b[2J"
	cutLines           = "\x1b[?7l"
	wrapLines          = "\x1b[?7h"
)

// New returns the screen of a writer, nil if that is no terminal on which text can
// be drawn.
func New(w io.Writer) *Screen {
	f, ok := printable.Behind(w).(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil
	}
	s := &Screen{out: f}
	if width, height := s.size(); width == 0 || height < 3 {
		return nil
	}
	return s
}

// Width returns the columns of the terminal to which a writer writes, 0 if it is none.
func Width(w io.Writer) int {
	f, ok := printable.Behind(w).(*os.File)
	if !ok {
		return 0
	}
	width, _ := (&Screen{out: f}).size()
	return width
}

// size returns the terminal's columns and lines; zeros of what is no terminal.
func (s *Screen) size() (width, height int) {
	size, err := unix.IoctlGetWinsize(int(s.out.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// Draw replaces the frame by a title and lines of text.
func (s *Screen) Draw(title string, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title, s.lines = title, s.lines[:0]
	for line := range bytes.Lines(bytes.Clone(text)) {
		s.lines = append(s.lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return s.paint()
}

// paint writes the frame in one piece, so that it does not flicker.
func (s *Screen) paint() error {
	var b bytes.Buffer
	width, height := s.size()
	b.WriteString(cutLines) // also those with characters that take two columns
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	b.WriteString("\r") // over the ^C that a terminal shows
	s.drawn = 0
	line := func(text []byte) {
		b.WriteString(eraseToEndOfLine) // behind a line that ends in the last column it would erase that
		b.Write(cut(text, width))
		b.WriteString("\r\n")
		s.drawn++
	}
	line([]byte(s.title))
	room := max(height-2, 1) // the title, and the line of the cursor
	shown := s.lines
	if len(shown) > room {
		shown = shown[:room-1]
	}
	for _, text := range shown {
		line(text)
	}
	if left := len(s.lines) - len(shown); left > 0 {
		line(fmt.Appendf(nil, "... %s: --top prints fewer groups, a larger terminal more lines", printable.Many(left, "more line", "more lines")))
	}
	b.WriteString(eraseToEndOfScreen + wrapLines)
	_, err := s.out.Write(b.Bytes())
	return err
}

// cut returns the part of a line that a terminal has room for.
func cut(line []byte, width int) []byte {
	for at, n := 0, 0; at < len(line); n++ {
		if n == width {
			return line[:at]
		}
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return line
}

// Changes returns the signals that say that the terminal is not what it was, until stop is
// called.
func (s *Screen) Changes() (signals <-chan os.Signal, stop func()) {
	if s == nil {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH, unix.SIGCONT)
	return c, func() { signal.Stop(c) }
}

// Change takes such a signal. While a shell had stopped sdttrace, by Ctrl-Z, other programs
// wrote below the frame.
func (s *Screen) Change(by os.Signal) {
	if by == unix.SIGCONT {
		s.Keep()
	} else {
		s.resize()
	}
}

// resize draws the frame anew. The terminal may have moved its lines, so that nothing
// but an empty screen is certain.
func (s *Screen) resize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.title != "" {
		s.drawn = 0
		io.WriteString(s.out, eraseScreen)
		s.paint()
	}
}

// Keep leaves the frame where it is: the next one stands below.
func (s *Screen) Keep() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn, s.title, s.lines = 0, "", nil
}

// Above returns a writer for what is written to w meanwhile, by the same terminal: it
// stands above the frame.
func (s *Screen) Above(w io.Writer) io.Writer {
	if s == nil || New(w) == nil {
		return w
	}
	return writerFunc(func(p []byte) (int, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.drawn == 0 {
			return w.Write(p)
		}
		fmt.Fprintf(s.out, "\x1b[%dA\r%s", s.drawn, eraseToEndOfScreen)
		s.drawn = 0
		n, err := w.Write(p)
		if err == nil && bytes.HasSuffix(p, []byte("\n")) {
			err = s.paint()
		}
		return n, err
	})
}

// WriteLines writes messages, each by itself.
func WriteLines(w io.Writer, messages []byte) error {
	for line := range bytes.Lines(messages) {
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writerFunc is a function as a writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
