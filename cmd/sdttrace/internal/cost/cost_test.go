package cost

import (
	"testing"
	"time"
)

func TestCPUTimes(t *testing.T) {
	if got, want := busyTime([]byte("cpu  100 20 3 4000 500 6 7 8 9 10\ncpu0 1 2 3\n")), 1360*time.Millisecond; got != want {
		t.Errorf("busy for %v, want %v", got, want)
	}
	if got, want := processTime([]byte("77 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 25 0 0\n")), 1750*time.Millisecond; got != want {
		t.Errorf("a process ran for %v, want %v", got, want)
	}
}
