package printable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-usdt/usdt/internal/printable"
)

func TestString(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"plain name":                "plain name",
		"héllo, 世界":                 "héllo, 世界",
		`a\b"c`:                     `a\b"c`,
		"\x1b]0;title\a":            `\x1b]0;title\a`,
		"\u009b31m":                 `\u009b31m`, // CSI as one character
		"a\nsdttrace: done\r":       `a\nsdttrace: done\r`,
		"\u202eevil\u2066\u200f":    `\u202eevil\u2066\u200f`,
		"bad \xff\xc3 \xed\xa0\x80": `bad \xff\xc3 \xed\xa0\x80`,
		"\ufffd":                    "\ufffd",
		"\x7f\x00":                  `\x7f\x00`,
		"\u00a0\u2028":              `\u00a0\u2028`,
	} {
		if got := printable.String(in); got != want {
			t.Errorf("String(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	w := printable.Writer(&out)
	n, err := fmt.Fprintf(w, "a\tb %s\n", "x\nsdttrace: FAKE\n\x1b[2J\u202e")
	if want := "a\tb x\\nsdttrace: FAKE\\n\\x1b[2J\\u202e\n"; err != nil || n != 29 || out.String() != want {
		t.Errorf("wrote %d bytes, %v: %q, want 29 and %q", n, err, &out, want)
	}
	if printable.Behind(w) != io.Writer(&out) || printable.Behind(&out) != io.Writer(&out) {
		t.Error("another writer is behind it")
	}
}

// TestLong leaves out the middle of words that are longer than names are, and nothing else.
func TestLong(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	var out strings.Builder
	if n, err := fmt.Fprintf(printable.Writer(&out), "a %s\tb %s\n", long, strings.Repeat("word ", 1000)); err != nil || n != 105_006 {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
	if got := out.String(); len(got) > 6000 || !strings.HasPrefix(got, "a ééé") || !strings.Contains(got, "é…é") || !strings.HasSuffix(got, " word \n") || !utf8.ValidString(got) {
		t.Errorf("wrote %d bytes: %.400q", len(got), got)
	}
	if got := printable.Name(long); !strings.HasSuffix(got, "é(100000 bytes)") || len(got) > 300 {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
	for _, whole := range []string{"name", "\x1b", long[:1000]} {
		if got, want := printable.Name(whole), printable.String(whole); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := string(printable.Append(nil, long)); got != long {
		t.Errorf("a value of %d bytes is cut to %d", len(long), len(got))
	}
}

func TestJoined(t *testing.T) {
	a, b, c := errors.New("a\nb"), errors.New("b"), errors.New("c")
	for _, test := range []struct {
		err  error
		want []error
	}{
		{a, []error{a}},
		{errors.Join(a, b), []error{a, b}},
		{errors.Join(errors.Join(a, b), c), []error{a, b, c}},
	} {
		if got := printable.Joined(test.err); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.err, got, test.want)
		}
	}
	if wrapped := fmt.Errorf("%w and %w", a, b); len(printable.Joined(wrapped)) != 1 {
		t.Errorf("%q is taken apart", wrapped)
	}
}

func TestJSON(t *testing.T) {
	text := "\u009b31m \x7f \u202e é \U000e0001\x1b \ufffd"
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if n, err := printable.JSONWriter(&out).Write(data); n != len(data) || err != nil {
		t.Errorf("wrote %d bytes, %v, want %d", n, err, len(data))
	}
	if want := `"\u009b31m \u007f \u202e é \udb40\udc01\u001b \ufffd"`; out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != text {
		t.Errorf("decoded %q, %v, want %q", back, err, text)
	}
}

func TestMarshalShown(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"héllo <b>\"q\" a\\b":   "héllo <b>\"q\" a\\b",
		"\x1b]0;t\a\n\t\x7f":    `\u001b]0;t\u0007\n\t\x7f`,
		"\u202e\u009b\u2028":    `\u202e\u009b\u2028`,
		"\U000e0001\u200b\xff!": `\U000e0001\u200b` + "\ufffd!",
	} {
		data, err := printable.MarshalShown(map[string]any{in: []any{in, 1.5}})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string][]any
		if err := json.Unmarshal(data, &got); err != nil || len(got[want]) != 2 || got[want][0] != want {
			t.Errorf("%q: %s is %q, %v, want %q", in, data, got, err, want)
		}
	}
}

func TestIsName(t *testing.T) {
	for in, want := range map[string]bool{"gc__start": true, "lib-a.so+1": true, "": false, "$(id)": false, "a b": false, "é": false} {
		if got := printable.IsName(in); got != want {
			t.Errorf("IsName(%q) is %t", in, got)
		}
	}
}

// FuzzAppend checks that text and JSON keep nothing unprintable, and that JSON keeps
// its meaning.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;title\a", "\u009b31m", "a\nb\t", "\u202eevil", "bad \xff\xc3", "\U000e0001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(what, got string) {
			t.Helper()
			for _, r := range got {
				if !strconv.IsPrint(r) || !utf8.ValidString(got) {
					t.Errorf("%s of %q: %q", what, s, got)
					break
				}
			}
		}
		check("text", printable.String(s))
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if shown, err := printable.MarshalShown(s); err != nil || json.Unmarshal(shown, &text) != nil {
			t.Errorf("%q: %s, %v", s, shown, err)
		}
		check("what is shown", text)
		escaped := printable.AppendJSON(nil, data)
		check("JSON", string(escaped))
		var want, got string
		if err := errors.Join(json.Unmarshal(data, &want), json.Unmarshal(escaped, &got)); err != nil || got != want {
			t.Errorf("JSON of %q: %s is %q (%v), want %q", s, escaped, got, err, want)
		}
	})
}
