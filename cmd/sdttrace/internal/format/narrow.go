package format

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Narrow appends lines of text so that none is wider than the columns of a terminal; 0 for none. A
// wide line goes on below, further to the right. A statement that is wider than a line is cut.
func Narrow(dst, lines []byte, columns int) []byte {
	if columns == 0 {
		return append(dst, lines...)
	}
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		text := bytes.TrimLeftFunc(line, unicode.IsSpace)
		begin := line[:len(line)-len(text)]
		indent := len(begin) + 7*bytes.Count(begin, []byte("\t")) // a tabulator is at most 8 columns wide
		dst = append(dst, begin...)
		at, room := indent, max(columns, indent+shortest)
		for first := true; len(text) > 0; first = false {
			var piece []byte
			piece, text = cutPiece(text)
			width := utf8.RuneCount(piece)
			switch {
			case first:
			case at+1+width <= room:
				dst, at = append(dst, ' '), at+1
			default:
				dst = append(append(append(dst, '\n'), begin...), "  "...)
				at = indent + 2
			}
			if left := room - at; width > left {
				piece, width = append([]byte(string([]rune(string(piece))[:left-1])), "…"...), left
			}
			dst, at = append(dst, piece...), at+width
		}
		dst = append(dst, '\n')
	}
	return dst
}

// cutPiece cuts text at the first space that is in no quotes.
func cutPiece(text []byte) (piece, rest []byte) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, nil
}
