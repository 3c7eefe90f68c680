package link

import (
	"fmt"
	"testing"
)

// TestChunks checks that no link gets more sites than the kernel takes, and that
// no site is left out.
func TestChunks(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: " 0-1", 1 << 20: " 0-1048576", 1<<20 + 1: " 0-1048576 1048576-1048577", 3 << 19: " 0-1048576 1048576-1572864",
	} {
		got := ""
		for start, end := range chunks(n) {
			got += fmt.Sprintf(" %d-%d", start, end)
		}
		if got != want {
			t.Errorf("%d sites: chunks%s, want%s", n, got, want)
		}
	}
}
