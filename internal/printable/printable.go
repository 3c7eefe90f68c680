// Package printable makes text from traced programs safe to show. These programs
// choose the names of probes, files and processes, and the arguments that they pass.
// Written to a terminal as it is, such text could move the cursor, change the title,
// type for the user, or look like lines of the tool's own.
package printable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Append appends s to dst, and escapes as in a Go string everything that is not
// printable, such as control characters, newlines, marks that change the direction of
// text and invalid UTF-8: \n, \x1b, \u202e.
func Append(dst []byte, s string) []byte { return appendText(dst, s, "") }

// String returns s as [Append] appends it.
func String(s string) string {
	if isPlain(s) {
		return s
	}
	return string(Append(nil, s))
}

// maxWord is how many bytes of a word people are shown: longer ones are no names that somebody reads.
const maxWord = 1 << 10

// Name returns a name as [String] does, with the middle of words that are very long left out.
func Name(s string) string { return shortened(String(s)) }

func shortened(s string) string {
	if len(s) <= maxWord {
		return s
	}
	words := strings.Split(s, " ")
	for i, word := range words {
		if len(word) > maxWord {
			const end = maxWord / 8
			words[i] = fmt.Sprintf("%s…%s(%d bytes)", strings.ToValidUTF8(word[:end], ""), strings.ToValidUTF8(word[len(word)-end:], ""), len(word))
		}
	}
	return strings.Join(words, " ")
}

// Writer returns a writer of messages to w. Each write is one line, or a part of one, and passes
// through [Append]; a newline at its end and tabs are kept. A newline within it comes from a
// name, and would begin a line that looks like a message. Very long words are shortened as by [Name].
func Writer(w io.Writer) io.Writer { return writer{w} }

// Behind returns the writer behind one of [Writer], for what other programs write and for the
// terminal's own sequences; any other writer is its own.
func Behind(w io.Writer) io.Writer {
	if w, ok := w.(writer); ok {
		return w.w
	}
	return w
}

// Joined returns the errors that errors.Join has joined to err, each for a line of its own; else
// err alone.
func Joined(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var lines []string
	for _, e := range joined.Unwrap() {
		all, lines = append(all, Joined(e)...), append(lines, e.Error())
	}
	if err.Error() != strings.Join(lines, "\n") {
		return []error{err}
	}
	return all
}

type writer struct{ w io.Writer }

func (w writer) Write(data []byte) (int, error) {
	text, newline := strings.CutSuffix(string(data), "\n")
	out := []byte(shortened(string(appendText(nil, text, "\t"))))
	if newline {
		out = append(out, '\n')
	}
	n, err := w.w.Write(out)
	if err == nil {
		return len(data), nil
	}
	return min(n, len(data)), err
}

// IsName reports whether s consists of characters that are part of names in every
// language that may read the output, shells included.
func IsName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_-.+", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func appendText(dst []byte, s, keep string) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		part := s[i : i+size]
		i += size
		if strings.Contains(keep, part) || strconv.IsPrint(r) && !(r == utf8.RuneError && size == 1) {
			dst = append(dst, part...)
			continue
		}
		quoted := strconv.Quote(part)
		dst = append(dst, quoted[1:len(quoted)-1]...)
	}
	return dst
}
