package printable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendJSON appends JSON and escapes the characters that encoding/json leaves as
// they are but a terminal might obey: DEL, the control characters from U+0080 on,
// the marks that change the direction of text; and U+FFFD, which encoding/json writes for
// invalid text, as an escape only before Go 1.27.
func AppendJSON(dst, json []byte) []byte {
	for len(json) > 0 {
		if c := json[0]; c < 0x7f { // the only control characters below are newlines between values
			dst, json = append(dst, c), json[1:]
			continue
		}
		r, size := utf8.DecodeRune(json)
		if strconv.IsPrint(r) && r != utf8.RuneError {
			dst = append(dst, json[:size]...)
		} else if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		} else {
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		json = json[size:]
	}
	return dst
}

// TimeFormat is RFC 3339 with all nine digits of the nanoseconds.
const TimeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// AppendString appends the JSON of a string, escaped as by [AppendJSON].
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			b, err := json.Marshal(s) // cannot fail for a string
			if err != nil {
				return append(dst, `""`...)
			}
			return AppendJSON(dst, b)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// MarshalShown returns the JSON of v for programs that show all of its strings, as pages do. The
// strings are escaped as by [Append]: decoded, U+202E is the six characters \u202e.
func MarshalShown(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil || isPlain(string(text)) && !bytes.ContainsRune(text, '\\') {
		return text, err
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == '\\' { // only in strings, as encoding/json writes it
			size = 2
			switch text[1] {
			case 'u':
				size = 6
				n, _ := strconv.ParseUint(string(text[2:size]), 16, 16)
				r = rune(n)
			case 'b', 'f', 'n', 'r', 't':
				r = 0
			}
		}
		if !strconv.IsPrint(r) {
			out = append(out, '\\')
			if text[0] != '\\' {
				quoted := strconv.Quote(string(r))
				out = append(out, quoted[1:len(quoted)-1]...)
				text = text[size:]
				continue
			}
		}
		out, text = append(out, text[:size]...), text[size:]
	}
	return out, nil
}

// JSONWriter returns a writer that passes whole values through [AppendJSON] to w.
func JSONWriter(w io.Writer) io.Writer { return jsonWriter{w} }

type jsonWriter struct{ w io.Writer }

func (w jsonWriter) Write(data []byte) (int, error) {
	for _, c := range data {
		if c < 0x7f {
			continue
		}
		if _, err := w.w.Write(AppendJSON(nil, data)); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	return w.w.Write(data)
}
