// Package printable makes text from traced programs safe to show. These programs
// choose the names of probes, files and processes, and the arguments that they pass.
// Written to a terminal as it is, such text could move the cursor, change the title,
// type for the user, or look like lines of the tool's own.
package printable

import (
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

// Writer returns a writer that passes each piece of text through [Append] to w, but
// keeps newlines and tabs. It is for messages that contain names.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ w io.Writer }

func (w writer) Write(data []byte) (int, error) {
	n, err := w.w.Write(appendText(nil, string(data), "\n\t"))
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
