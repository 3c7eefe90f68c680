package screen

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/printable"
)

// Fold breaks lines that are wider than columns between words, and never within one; 0 columns
// break none. A line goes on below the last column of a table or, where there is none, further to
// the right by hang.
func Fold(text string, columns, hang int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) <= columns {
			b.WriteString(line + "\n")
			continue
		}
		if command, what, ok := example(line); ok {
			b.WriteString(Fold(command+"\n      # "+what+"\n", columns, hang))
			continue
		}
		below := cell(line)
		if indent := indentOf(line); below <= indent || below > columns/2 {
			below = indent + hang
		}
		at := 0 // where the terminal's line has come to
		for rest := line; rest != ""; {
			blanks := indentOf(rest)
			word, left, _ := strings.Cut(rest[blanks:], " ")
			if rest = ""; left != "" {
				rest = " " + left
			}
			width := utf8.RuneCountInString(word)
			if at > below && at+blanks+width > columns {
				b.WriteString("\n")
				at, blanks = 0, below
			}
			b.WriteString(strings.Repeat(" ", blanks) + word)
			at += blanks + width
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Join makes one line of each paragraph, and of each cell of a table, for Fold.
func Join(text string) string {
	var lines []string
	below := -1 // where a line must begin to go on the last one
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if indent := indentOf(line); line != "" && indent == below && (indent > 0 || !strings.HasPrefix(line, " ")) {
			lines[len(lines)-1] += " " + line[indent:]
			continue
		}
		lines = append(lines, line)
		switch column := cell(line); {
		case line == "":
			below = -1
		case column > 0:
			below = column
		case strings.HasPrefix(line, " "):
			below = -1 // an example, or what is drawn
		default:
			below = 0
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// example splits an example of a command from what it says about it, which stands behind three blanks.
func example(line string) (command, what string, ok bool) {
	command, what, ok = strings.Cut(line, "   ")
	return command, strings.TrimLeft(what, " "), ok && strings.HasPrefix(command, "  sdttrace ")
}

// indentOf counts the blanks at the beginning of a line.
func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// cell returns where the last column of a table's row begins, 0 if the line is no row.
func cell(line string) int {
	indent := indentOf(line)
	gap := strings.LastIndex(line[indent:], "  ")
	if gap < 0 {
		return 0
	}
	return indent + utf8.RuneCountInString(line[indent:indent+gap]) + 2
}

// Folded returns a writer to w that folds lines for a terminal, if that is one. Each write is one line,
// as with [printable.Writer]: no text of others begins one of its own.
func Folded(w, terminal io.Writer) io.Writer { return &folded{w, terminal} }

type folded struct{ w, terminal io.Writer }

func (f *folded) Write(text []byte) (int, error) {
	var whole strings.Builder
	if _, err := printable.Writer(&whole).Write(text); err != nil {
		return 0, err
	}
	for line := range strings.Lines(Fold(whole.String(), Width(f.terminal), 2)) {
		if _, err := io.WriteString(f.w, line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}
