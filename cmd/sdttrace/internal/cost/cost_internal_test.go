package cost

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestProcessTime(t *testing.T) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	got, err := processTime(os.Getpid())
	if less := time.Duration(u.Utime.Nano() + u.Stime.Nano()); err != nil || got < less || got > less+time.Second {
		t.Errorf("this process ran for %v (%v), want a little more than %v", got, err, less)
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
