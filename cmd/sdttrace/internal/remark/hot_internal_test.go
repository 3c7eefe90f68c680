package remark

import (
	"strings"
	"testing"
	"time"
)

// TestHeat checks which functions are warned of, and that what their program itself takes of a
// processor counts, not only the whole of one: others may keep the processors busy.
func TestHeat(t *testing.T) {
	const each = 10 * time.Microsecond
	for _, test := range []struct {
		name string
		heat heat
		want string // a part of the warning; empty for none
	}{
		{"busy program", heat{rate: 30_000, each: each, used: 1}, "in all 30 % of a processor and 30 % of the CPU time of its program: "},
		{"busy machine", heat{rate: 10_000, each: each, used: 0.105}, "in all 10 % of a processor and 95 % of the CPU time of its program, which runs many times slower: "},
		{"many threads", heat{rate: 30_000, each: each, used: 30}, "in all 30 % of a processor and 1 % of the CPU time of its program: "},
		{"more than was used", heat{rate: 30_000, each: each, used: 0.1}, "100 % of the CPU time"},
		{"no CPU time known", heat{rate: 30_000, each: each}, "in all 30 % of a processor: "},
		{"little of a busy program", heat{rate: 10_000, each: each, used: 1}, ""},
		{"a program that sleeps", heat{rate: 1000, each: each, used: 0.012}, ""},
		{"little, and no CPU time known", heat{rate: 10_000, each: each}, ""},
	} {
		got := test.heat.say(true)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want a warning with %q", test.name, got, test.want)
		}
	}
}
