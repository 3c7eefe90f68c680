package filter_test

import (
	"math"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/filter"
)

// TestHolds evaluates conditions on values that are missing, cut or NaN. The
// tests of package attach check that programs in the kernel do the same.
func TestHolds(t *testing.T) {
	number, none := filter.NumberOperand, filter.Operand{}
	text := func(s string, more bool) filter.Operand { return filter.StringOperand([]byte(s), more) }
	const minusTwo = 1<<64 - 2
	long := strings.Repeat("x", filter.MaxString)
	for _, test := range []struct {
		where string
		value filter.Operand
		want  bool
	}{
		{"u == 0", none, false},
		{"u != 0", none, false},
		{"!(u == 0)", none, true},
		{"u != 0 || !(u > 1)", none, true},
		{`s != "x"`, none, false},
		{"u > 5", number(math.MaxUint64), true},
		{"u > -1", number(math.MaxUint64), true},
		{"i < 0", number(minusTwo), true},
		{"i == -2", number(minusTwo), true},
		{"i < 18446744073709551615", number(minusTwo), true},
		{"b", number(2), true},
		{"b == false", number(0), true},
		{"f == 0", number(1 << 63), true}, // -0
		{"f != 0", number(math.Float64bits(math.NaN())), false},
		{"f < 0.1", number(math.Float64bits(math.Inf(-1))), true},
		{"g == 0.1", number(math.Float64bits(float64(float32(0.1)))), true},
		{"g >= 0", number(math.Float64bits(math.NaN())), false},
		{`s == "` + long + `"`, text(long, false), true},
		{`s == "` + long + `"`, text(long+"x", false), false},
		{`s != "` + long + `"`, text(long, true), true},
		{`s ~ "*y"`, text(long+"y", false), false}, // beyond the bytes that are compared
		{`s ~ "*y*"`, text(long+"y", false), false},
		{`s ~ "*x*"`, text(long+"y", false), true},
		{`s ~ "x*"`, text("x", true), true},
		{`s ~ "*x"`, text("x", true), false},
		{`s == ""`, text("", true), false},
		{`s[:3] == "abc"`, text("abcd", false), true},
		{`s[:3] == "abc"`, text("abc", false), true},
		{`s[:3] != "abc"`, text("ab", false), true},
		{`s[:3] == "abc"`, text("abc", true), true},
		{`s[:3] == "ab"`, text("ab", true), false},
		{`s[:3] ~ "*d"`, text("abcd", false), false},
		{"u % 7 == 4", number(25), true},
		{"u / (u - 25) == 1", number(25), false}, // divides by zero
		{"!(u / (u - 25) == 1)", number(25), true},
		{"u / (u - 25) != 1", number(25), false},
		{"u + 1 != 0", none, false},
		{"i * 3 == -6", number(minusTwo), true},
	} {
		e, err := filter.Parse(test.where)
		if err != nil {
			t.Fatal(err)
		}
		c, err := e.Check(lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Holds(func(filter.Value) filter.Operand { return test.value }); got != test.want {
			t.Errorf("%.40s of %+v: got %t, want %t", test.where, test.value, got, test.want)
		}
	}
}
