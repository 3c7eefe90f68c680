package cost

import (
	"testing"
	"time"
)

func TestProcessTime(t *testing.T) {
	if got, want := processTime([]byte("77 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 25 0 0\n")), 1750*time.Millisecond; got != want {
		t.Errorf("a process ran for %v, want %v", got, want)
	}
}
