package filter_test

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// names are the names that conditions of the tests may use.
var names = map[string]filter.Value{
	"i": {Kind: filter.Int, Size: 4}, "u": {Kind: filter.Uint, Size: 8}, "f": {Kind: filter.Float, Size: 8},
	"g": {Kind: filter.Float, Size: 4}, "b": {Kind: filter.Bool, Size: 1}, "s": {Kind: filter.String}, "a.b": {Kind: filter.Uint, Size: 2},
}

func lookup(name string, _ bool) (filter.Value, error) {
	v, ok := names[name]
	if !ok {
		return v, fmt.Errorf("%s is unknown", name)
	}
	return v, nil
}

// show writes a condition down with all its parentheses.
func show(c *filter.Condition) string {
	ops := [...]string{"&&", "||", "!", "==", "!=", "<", "<=", ">", ">=", "~", "!~"}
	of := ""
	if c.Steps != nil {
		of = "steps "
	}
	switch c.Op {
	case filter.And, filter.Or:
		return "(" + show(c.Left) + " " + ops[c.Op] + " " + show(c.Right) + ")"
	case filter.Not:
		return "!" + show(c.Left)
	case filter.Match, filter.Miss:
		if c.Prefix > 0 {
			return fmt.Sprintf("s%s%q[:%d]", ops[c.Op], c.Pattern.Pieces, c.Prefix)
		}
		return fmt.Sprintf("s%s%q", ops[c.Op], c.Pattern.Pieces)
	}
	if c.Signed {
		return fmt.Sprintf("%si%s%d", of, ops[c.Op], int64(c.Bits))
	}
	return fmt.Sprintf("%su%s%d", of, ops[c.Op], c.Bits)
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"i == 1", "i==1"},
		{"-1<i", "i>-1"},
		{"i >= -0x10 && u != 0xFFFFFFFFFFFFFFFF", "(i>=-16 && u!=18446744073709551615)"},
		{"b || !b && b == false", "(u!=0 || (!u!=0 && u==0))"},
		{"!(b || b) && b", "(!(u!=0 || u!=0) && u!=0)"},
		{"b != true", "u==0"},
		{"a.b > 3", "u>3"},
		{"u > -1", "u>=0"},
		{"u < -1", "u<0"},
		{"u == -1", "u<0"},
		{"u != -1", "u>=0"},
		{"i < 18446744073709551615", "u>=0"},
		{"i == 9223372036854775808", "u<0"},
		{"f == -0", "i==0"},
		{"f < 1", fmt.Sprint("i<", filter.FloatOrder(math.Float64bits(1)))},
		{"1.5e+3 > f", fmt.Sprint("i<", filter.FloatOrder(math.Float64bits(1500)))},
		{"g >= -.5", fmt.Sprint("i>=", filter.FloatOrder(uint64(math.Float32bits(-.5))<<32))},
		{`s == "a*\"\n"`, `s~["a*\"\n"]`},
		{`s != 'it\'s'`, `s!~["it's"]`},
		{`s ~ "/api/*"`, `s~["/api/" ""]`},
		{`s ~ "***"`, `s~["" ""]`},
		{`s ~ "a**b*c"`, `s~["a" "b" "c"]`},
		{`s ~ "*\*\\*"`, `s~["" "*\\" ""]`},
		{`s ~ ""`, `s~[""]`},
		{"", "column 1: want the name of an argument"},
		{"x == 1", "column 1: x is unknown"},
		{"i == 1 && é", "column 11: é is unknown"},
		{"i % 4 == -1", "steps i==-1"},
		{"-1 != i - 4*1024", "steps i!=-1"},
		{"(u & 0xfff) == 0 && !b", "(steps u==0 && !u!=0)"},
		{"u/2 > 2*(3+4)", "steps u>14"},
		{"(b) && ((i == 1) || u>>1 < 8)", "(u!=0 && (i==1 || steps u<8))"},
		{"u - 1 < 0", "steps i<0"},
		{"u + 1 < -1", "steps u<0"},
		{`s[:4] == "/api"`, `s~["/api"][:4]`},
		{`s[:4] ~ "/a*"`, `s~["/a" ""][:4]`},
		{"i + f == 1", "column 5: f is a floating-point number, and expressions are of integers and durations"},
		{"i / 2", "column 1: i / 2 is an integer, not a condition: compare it with a constant"},
		{`i / 2 == "x"`, "column 10: i / 2 is an integer, and is compared with a string"},
		{"i / 2 == 1.5", "column 10: i / 2 is an integer, and is compared with a floating-point number"},
		{`i[:2] == "x"`, "column 1: i is an integer: only text has a beginning"},
		{"s[:2]", "column 1: s[:2] is a text, not a condition"},
		{`sql(s) == "x"`, "column 1: sql(s) makes keys of groups, and cannot be compared"},
		{"i == 1 & b", "column 8: to combine conditions write &&"},
		{"i & 1 == u", "column 1: compare the name of an argument with a constant"},
		{"(i == 1) + 2 == 3", "column 10: + is of integers, not of conditions"},
		{"(i == 1) == 1", "column 10: == compares values, not conditions"},
		{"i == 1 / 0", "column 8: 1 / 0 divides by zero"},
		{"i == u / u", "column 1: compare the name of an argument with a constant"},
		{"i = 1", "column 3: to compare write =="},
		{"i & 1", "column 3: i & 1 is an integer, not a condition: compare it with a constant, or combine conditions by &&"},
		{"i", "column 1: i is an integer, not a condition"},
		{"i == 1.5", "column 6: i is an integer, and is compared with a floating-point number"},
		{`i == "x"`, "column 6: i is an integer, and is compared with a string"},
		{"b < true", "column 3: bools are compared by == and != only"},
		{`s < "x"`, "column 3: strings are compared by ==, != and ~ only"},
		{`i ~ "x"`, "column 3: ~ compares a string with a pattern, and i is an integer"},
		{`"x" ~ s`, "column 7: the pattern is a string to the right of ~"},
		{"(i == 1", "column 8: the '(' of column 1 is not closed"},
		{"i == 1)", `column 7: ")" follows a complete condition`},
		{"i == 1 u", `column 8: "u" follows a complete condition`},
		{"i ==", "column 5: want a constant after =="},
		{"i == u", "column 1: compare the name of an argument with a constant: the name of a number is in quotes"},
		{"5", "column 1: 5 is compared with nothing"},
		{"i == 12ab", `column 6: "12ab" is not a number`},
		{"i == 18446744073709551616", "column 6: 18446744073709551616 does not fit"},
		{"i == -9223372036854775809", "column 6: -9223372036854775809 does not fit"},
		{`s == "x`, "column 6: the string is not closed"},
		{`s == "\q"`, "column 7: a backslash is followed by"},
		{"i == 1 # u", `column 8: character "#" has no meaning`},
		{strings.Repeat("!", 100) + "b", "column 65: conditions nest at most 64 deep"},
		{strings.Repeat("b||", 5000) + "b", "at most 8192 bytes"},
		{`s == "` + strings.Repeat("x", 600) + `"`, "at most 512 bytes"},
	} {
		got := ""
		e, err := filter.Parse(test.in)
		var c *filter.Condition
		if err == nil {
			c, err = e.Check(lookup)
		}
		if err == nil {
			got = show(c)
			if got != test.want {
				t.Errorf("%s\ngot  %s\nwant %s", test.in, got, test.want)
			}
			continue
		}
		var at *filter.Error
		if !strings.Contains(err.Error(), test.want) || !errors.As(err, &at) {
			t.Errorf("%.60s\ngot  error %v\nwant %s", test.in, err, test.want)
		}
	}
}

func TestFloatOrder(t *testing.T) {
	numbers := []float64{math.Inf(-1), -1e300, -2, -1.5, -5e-324, 0, 5e-324, 1, math.Pi, math.Inf(1)}
	for i, a := range numbers[1:] {
		if lo, hi := filter.FloatOrder(math.Float64bits(numbers[i])), filter.FloatOrder(math.Float64bits(a)); lo >= hi {
			t.Errorf("order of %v, %v: %d, %d", numbers[i], a, lo, hi)
		}
	}
	if got := filter.FloatOrder(math.Float64bits(math.Copysign(0, -1))); got != 0 {
		t.Errorf("-0 is %d, want 0", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"i == 1", `!(s ~ "a*" || b) && f < -1.5e3`, "((", `s != 'x\x41\*'`, "u >= 0x10 && pid == 1",
		"took > 10ms && took < 1h", `at > "2026-01-01" || at < 2026-01-01T00:00:00Z`, `peer == 10.0.0.1 || peer != "::1"`} {
		f.Add(s, "abc")
	}
	f.Fuzz(func(t *testing.T, in, text string) {
		e, err := filter.Parse(in)
		if err == nil {
			_, err = e.Check(lookup)
		}
		var at *filter.Error
		if err != nil && (!errors.As(err, &at) || at.Column < 1 || at.Column > len(in)+1) {
			t.Errorf("error %#v of %q", err, in)
		}
		// A pattern agrees with path.Match where both have the same syntax.
		if strings.ContainsAny(in+text, "\"\\/?[]\n") || strings.ToValidUTF8(in+text, "") != in+text || len(in) > 40 || len(text) > 40 || strings.Count(in, "*") > 5 {
			return
		}
		if e, err = filter.Parse(`s ~ "` + in + `"`); err != nil {
			t.Fatal(err)
		}
		c, err := e.Check(lookup)
		if err != nil {
			t.Fatal(err)
		}
		want, err := path.Match(in, text)
		if got := c.Pattern.Match(text); err == nil && got != want {
			t.Errorf("%q matches %q: got %t, want %t", in, text, got, want)
		}
	})
}
