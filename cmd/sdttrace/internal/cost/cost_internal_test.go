package cost

import (
	"os"
	"testing"
	"time"
)

func TestProcessTime(t *testing.T) {
	if got, want := processTime([]byte("77 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 25 0 0\n")), 1750*time.Millisecond; got != want {
		t.Errorf("a process ran for %v, want %v", got, want)
	}
}

// TestLeaveOld checks which processes count that were found when tracing had ended.
func TestLeaveOld(t *testing.T) {
	own := os.Getpid()
	for _, c := range []struct {
		began  uint64
		before map[int]time.Duration
		want   time.Duration
	}{
		{ticks() + 1, map[int]time.Duration{}, 0},                       // older, found late
		{0, map[int]time.Duration{}, 5 * time.Second},                   // started since
		{ticks() + 1, map[int]time.Duration{own: 1e9}, 4 * time.Second}, // known from the beginning
	} {
		m := &Costs{began: c.began, before: c.before, now: map[int]time.Duration{own: 5 * time.Second}}
		if m.leaveOld(); m.used() != c.want {
			t.Errorf("began at %d, before %v: used %v, want %v", c.began, c.before, m.used(), c.want)
		}
	}
}
