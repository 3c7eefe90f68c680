package format

import "testing"

func TestMany(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 starts have", 1: "1 start has", 2: "2 starts have", 21: "21 starts have"} {
		if got := Many(n, "start has", "starts have"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
