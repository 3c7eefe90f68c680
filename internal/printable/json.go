package printable

import (
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
