package elfgen

import "testing"

// TestXXH64 compares xxh64 with xxhsum (of Debian's xxhash).
func TestXXH64(t *testing.T) {
	for _, tt := range []struct {
		seed uint64
		text string
		want uint64
	}{
		{0, "", 0xef46db3751d8e999},
		{0, "a", 0xd24ec4f1a98c6e5b},
		{0, "abc", 0x44bc2cf5ad770999},
		{0, "Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1},
	} {
		if got := xxh64(tt.seed, []byte(tt.text)); got != tt.want {
			t.Errorf("seed %d, %q: got %#x, want %#x", tt.seed, tt.text, got, tt.want)
		}
	}
}
