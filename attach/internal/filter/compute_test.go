package filter_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// computed are what names stand for in expressions of the tests.
var computed = map[string]struct {
	kind filter.Kind
	bits uint64
}{
	"i": {filter.Int, minus(7)}, "min": {filter.Int, 1 << 63}, "u": {filter.Uint, 503}, "max": {filter.Uint, 1<<64 - 1},
	"zero": {filter.Uint, 0}, "took": {filter.Duration, 2_500_000}, "a.b[1]": {filter.Uint, 6},
	"f": {filter.Float, 0}, "s": {filter.String, 0}, "b": {filter.Bool, 1}, "at": {filter.Time, 0},
}

func minus(n uint64) uint64 { return -n }

func lookupComputed(name string) (filter.Value, error) {
	v, ok := computed[name]
	if !ok {
		return filter.Value{}, fmt.Errorf("%s is unknown", name)
	}
	return filter.Value{Kind: v.kind, Size: 8, Index: int(v.bits)}, nil
}

// compute returns the result of an expression, or the error, as text.
func compute(in string) string {
	k, err := filter.ParseKey(in)
	if err != nil {
		return err.Error()
	}
	steps, kind, err := k.Steps(lookupComputed)
	if err != nil {
		return err.Error()
	}
	bits, failed := filter.Compute(steps, func(v filter.Value) (uint64, bool) { return uint64(v.Index), true })
	switch {
	case failed >= 0:
		return fmt.Sprintf("step %d fails", failed)
	case kind == filter.Uint:
		return fmt.Sprint(bits)
	case kind == filter.Duration:
		return fmt.Sprint(int64(bits), "ns")
	}
	return fmt.Sprint("signed ", int64(bits))
}

func TestCompute(t *testing.T) {
	for in, want := range map[string]string{
		"u/100":                        "5",
		"u / 100 * 100":                "500",
		"u % 100":                      "3",
		"u&0xff":                       "247",
		"u & 0xf == 7":                 "\"u & 0xf == 7\", column 1: a key is an argument or an expression, not a condition",
		"u + 1 * 2":                    "505",
		"(u + 1) * 2":                  "1008",
		"u + 2 & 3":                    "505", // & binds as *
		"u >> 2 << 2":                  "500",
		"u << 1 + 1":                   "1007", // << binds as *
		"u - 504":                      "signed -1",
		"504 - u":                      "signed 1",
		"u-1":                          "signed 502",
		"u -1":                         "signed 502",
		"u+1":                          "504",
		"u - -1":                       "signed 504",
		"-u":                           "signed -503",
		"- - +u":                       "signed 503",
		"(u - 510) / 2":                "signed -3",
		"i / 2":                        "signed -3",
		"i % 4":                        "signed -3",
		"i / -2":                       "signed 3",
		"i % -4":                       "signed -3",
		"i >> 1":                       "signed -4",
		"i >> 64":                      "signed -1",
		"i << 64":                      "signed 0",
		"i >> u":                       "signed -1",
		"u >> 64":                      "0",
		"u >> -1":                      "0",
		"u << max":                     "0",
		"min / -1":                     "signed -9223372036854775808",
		"min % -1":                     "signed 0",
		"max + 1":                      "0",
		"max / 2":                      "9223372036854775807",
		"max / 1":                      "18446744073709551615",
		"i + max":                      "signed -8",
		"max >> 63":                    "1",
		"u & 0xffffffffffffffff":       "503",
		"100 / zero":                   "step 2 fails",
		"u % (zero * 5)":               "step 4 fails",
		"a.b[1] * 7":                   "42",
		"u*(i+(u-(i*(u-4))))":          "signed 2006467",
		"took / 1ms":                   "signed 2",
		"took % 1ms":                   "500000ns",
		"took / 1000":                  "2500ns",
		"took - 2ms":                   "500000ns",
		"took * 2":                     "5000000ns",
		"took >> 1":                    "1250000ns",
		"took * took":                  `"took * took", column 6: durations are not multiplied by each other`,
		"u / 0":                        `"u / 0", column 3: u / 0 divides by zero`,
		"u % 0":                        `"u % 0", column 3: u % 0 divides by zero`,
		"f + 1":                        `"f + 1", column 1: f is a floating-point number, and expressions are of integers and durations`,
		"u + s":                        `"u + s", column 5: s is a string, and expressions are of integers and durations`,
		"b + 1":                        "column 1: b is a bool",
		"at - 1":                       "column 1: at is a time",
		"u * 1.5":                      "column 5: 1.5 is a floating-point number",
		`u + "x"`:                      "column 5: \"x\" is a string",
		"u + s[:3]":                    "column 5: s[:3] is the beginning of a text, and expressions are of integers",
		"u + sql(s)":                   "column 5: sql(s) is a text, and expressions are of integers",
		"u + x":                        "column 5: x is unknown",
		"u +":                          "column 4: want an argument or a number after +",
		"u / * 2":                      "column 5: want an argument or a number after /",
		"(u + 1":                       "column 7: the '(' of column 1 is not closed",
		"u + 1)":                       `column 6: ")" follows a complete expression`,
		"u u":                          `column 3: "u" follows a complete expression`,
		"u | 1":                        "column 3: to combine conditions write ||",
		"5 + 5":                        "5 + 5 names no argument",
		"u + (b && b)":                 "column 3: + is of integers, not of conditions",
		"":                             "column 1: want the name of an argument",
		"s[:0]":                        "column 4: want a number of bytes from 1 to 512 after [:",
		"s[:x]":                        "column 4: want a number of bytes",
		"s[:5":                         "column 5: want ] after s[:5",
		"sql(":                         "column 5: want the name of an argument after sql(",
		"sql(s":                        "column 6: want ) after sql(s",
		"sql(cxx(s))":                  "column 8: want ) after sql(cxx",
		"u" + strings.Repeat("+u", 40): "an expression has at most 32 operands",
		strings.Repeat("(u+", 12) + "u" + strings.Repeat(")", 12): "an expression nests at most 8 deep",
		strings.Repeat("(", 70) + "u" + strings.Repeat(")", 70):   "column 65: conditions nest at most 64 deep",
		strings.Repeat("- ", 70) + "u":                            "column 129: conditions nest at most 64 deep",
	} {
		if got := compute(in); got != want && (!strings.HasPrefix(got, `"`) || !strings.Contains(got, want)) {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, test := range []struct {
		in, text, name, function string
		prefix                   int
		names                    string
		computed                 bool
	}{
		{"path", "path", "path", "", 0, "path", false},
		{" peer.ports[2] ", "peer.ports[2]", "peer.ports[2]", "", 0, "peer.ports[2]", false},
		{"path[:16]", "path[:16]", "path", "", 16, "path", false},
		{"a[0].b [: 0x10 ]", "a[0].b[:0x10]", "a[0].b", "", 16, "a[0].b", false},
		{"sql( query )", "sql(query)", "query", "sql", 0, "query", false},
		{"n - 1000 - 10 - 10", "n - 1000 - 10 - 10", "", "", 0, "n", true},
		{"(path)", "(path)", "path", "", 0, "path", false},
		{"size / 4096 - n", "size/4096-n", "", "", 0, "size n", true},
	} {
		k, err := filter.ParseKey(test.in)
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if k.Text != test.text || k.Name != test.name || k.Function != test.function || k.Prefix != test.prefix ||
			strings.Join(k.Names(), " ") != test.names || k.Computed() != test.computed {
			t.Errorf("%s: got %+v of %v, want %+v", test.in, k, k.Names(), test)
		}
	}
}

// FuzzParseKey checks that keys without blanks mean the same, and that computing never
// panics.
func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"u/100", "i % (u - 3) & 0xff", "s[:16]", "sql(s)", "took / 1ms", "-u << 3"} {
		f.Add(s, []byte("12345678"))
	}
	f.Fuzz(func(t *testing.T, in string, values []byte) {
		k, err := filter.ParseKey(in)
		var at *filter.Error
		if err != nil {
			if !errors.As(err, &at) || at.Column < 1 || at.Column > len(in)+1 {
				t.Errorf("error %#v of %q", err, in)
			}
			return
		}
		again, err := filter.ParseKey(k.Text)
		if err != nil || again.Text != k.Text || again.Computed() != k.Computed() || again.Function != k.Function || again.Prefix != k.Prefix {
			t.Errorf("%q is %+v, and %q is %+v: %v", in, k, k.Text, again, err)
		}
		if !k.Computed() {
			return
		}
		steps, _, err := k.Steps(lookupComputed)
		if err != nil {
			return
		}
		n := 0
		filter.Compute(steps, func(filter.Value) (uint64, bool) {
			var word [8]byte
			if len(values) > 0 {
				copy(word[:], values[n%len(values):])
			}
			n++
			return binary.NativeEndian.Uint64(word[:]), true
		})
	})
}
