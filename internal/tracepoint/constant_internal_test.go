package tracepoint

import "testing"

// TestConstant reads numbers as macros of the kernel leave them in formats.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"130", 130, true}, {"0x80", 128, true}, {"-1", -1, true}, {"(-22)", -22, true},
		{"1 << 3", 8, true}, {"(1u << 0)", 1, true}, {"(1ULL << 40)", 1 << 40, true},
		{" ((((1UL))) << (7))", 128, true}, // BIT(7), Linux 7.3
		{"1 << n", 0, false}, {"(gfp_t)1", 0, false}, {"1 | 2", 0, false}, {"1 << 64", 0, false}, {"", 0, false},
	} {
		if got, ok := constant(c.text); ok != c.ok || ok && got != c.want {
			t.Errorf("%q is %d, %t, want %d, %t", c.text, got, ok, c.want, c.ok)
		}
	}
}
