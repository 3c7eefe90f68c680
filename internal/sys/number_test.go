package sys

import "testing"

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		rest string
	}{
		{"", 0, ""}, {"0", 0, ""}, {"6.18.44", 6, ".18.44"}, {"18-rc1", 18, "-rc1"}, {"007", 7, ""}, {"-1", 0, "-1"}, {"x1", 0, "x1"}, {"4194304", 4194304, ""},
	} {
		if n, rest := Number(c.in); n != c.n || rest != c.rest {
			t.Errorf("Number(%q) is %d, %q, want %d, %q", c.in, n, rest, c.n, c.rest)
		}
	}
}
