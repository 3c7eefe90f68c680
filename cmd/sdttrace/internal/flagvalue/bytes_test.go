package flagvalue

import "testing"

func TestBytes(t *testing.T) {
	for _, test := range []struct {
		text string
		want int
		back string
	}{
		{"1", 1, "1"}, {"4096", 4096, "4K"}, {"64M", 64 << 20, "64M"}, {"64m", 64 << 20, "64M"}, {"64MiB", 64 << 20, "64M"}, {"64MB", 64e6, "62500K"},
		{"8 KiB", 8 << 10, "8K"}, {"1GiB", 1 << 30, "1G"}, {"1kB", 1000, "1000"}, {"100B", 100, "100"}, {"-1K", -1024, "-1K"}, {"0M", 0, "0"},
	} {
		var b Bytes
		if err := b.Set(test.text); err != nil || int(b) != test.want || b.String() != test.back {
			t.Errorf("%q is %d (%v), written %s; want %d and %s", test.text, b, err, b.String(), test.want, test.back)
		}
	}
}
