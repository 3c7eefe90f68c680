package output

import "io"

// Last keeps the last lines that are written to it.
type Last struct {
	most  int
	lines [][]byte
	next  int // the place of the oldest, once there are most
}

// NewLast returns a Last for so many lines.
func NewLast(most int) *Last { return &Last{most: most} }

// Write keeps what is written in one call as a line, or several that belong together.
func (l *Last) Write(line []byte) (int, error) {
	if len(line) == 0 {
		return 0, nil
	}
	if len(l.lines) < l.most {
		l.lines = append(l.lines, append([]byte(nil), line...))
		return len(line), nil
	}
	l.lines[l.next] = append(l.lines[l.next][:0], line...)
	l.next = (l.next + 1) % l.most
	return len(line), nil
}

// WriteTo writes the lines that were kept.
func (l *Last) WriteTo(w io.Writer) (n int64, err error) {
	for i := range l.lines {
		written, err := w.Write(l.lines[(l.next+i)%len(l.lines)])
		if n += int64(written); err != nil {
			return n, err
		}
	}
	return n, nil
}
