package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestClock sets the wall clock while a clock is in use.
func TestClock(t *testing.T) {
	const second = uint64(time.Second)
	var now sample
	measured := 0
	c := Clock{measure: func() sample { measured++; return now }}
	set := func(at uint64, offset, slack int64) { now = sample{at, offset, slack} }
	check := func(monotonic uint64, want int64) {
		t.Helper()
		if got := c.Wall(monotonic).UnixNano(); got != want {
			t.Errorf("at %d the wall clock is %d, want %d", monotonic, got, want)
		}
	}
	set(10*second, 1000, 40)
	c.current, c.before = now, now.offset
	check(9*second, int64(9*second)+1000) // fired before the clock was read

	// A difference within the precision of reading is no change.
	set(11*second, 1060, 40)
	check(11*second, int64(11*second)+1000)

	// Between two checks nothing reads the clocks.
	before := measured
	for i := range interval / 1000 {
		c.Wall(11*second + i)
	}
	if measured != before {
		t.Errorf("the clocks were read %d times within %v", measured-before, time.Duration(interval))
	}

	// Somebody puts the wall clock back by an hour. Events until the last check
	// fired before that.
	set(20*second, 1000-int64(3600*second), 40)
	check(20*second, int64(20*second)+1000-int64(3600*second))
	check(11*second-1, int64(11*second-1)+1000)
	check(11*second, int64(11*second)+1000-int64(3600*second))

	// An interrupted reading does not hide a change, and a later one replaces it.
	set(30*second, 5_000_000, 1_000_000)
	check(30*second, int64(30*second)+5_000_000)
	set(31*second, 4_500_000, 40)
	check(31*second, int64(31*second)+4_500_000)
	check(30*second, int64(30*second)+4_500_000)
}

// TestReadClocks checks that the two clocks are read at the same time.
func TestReadClocks(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		before := time.Now()
		now := read(0)
		wall := time.Unix(0, int64(now.at)+now.offset)
		if wall.Before(before.Round(0)) || wall.After(time.Now().Round(0)) || now.slack <= 0 {
			t.Fatalf("the wall clock is said to be %v, between %v and %v", wall, before, time.Now())
		}
	}
	if c.current.slack > int64(time.Millisecond) {
		t.Errorf("the best reading took %d ns", 2*c.current.slack)
	}
}

// TestMonotonicOffset reads the offsets of processes from the kernel.
func TestMonotonicOffset(t *testing.T) {
	for _, test := range []struct {
		own, children, offsets string
		want                   int64
		ok                     bool
	}{
		{"", "", "", 0, true},
		{process.InitialTimeNamespace, "time:[7]", "monotonic 5 0\n", 0, true},
		{"time:[7]", "time:[7]", "monotonic      100000         5\nboottime      7 0\n", 100_000_000_000_005, true},
		{"time:[7]", "time:[7]", "boottime 7 0\nmonotonic -2 999999999\n", -1_000_000_001, true},
		{"time:[7]", "time:[8]", "monotonic 5 0\n", 0, false},
		{"time:[7]", "time:[7]", "monotonic x\n", 0, false},
		{"time:[7]", "time:[7]", "", 0, false},
	} {
		dir := t.TempDir()
		if test.own != "" {
			if err := os.Mkdir(filepath.Join(dir, "ns"), 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"time": test.own, "time_for_children": test.children} {
				if err := os.Symlink(text, filepath.Join(dir, "ns", name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "timens_offsets"), []byte(test.offsets), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ahead(dir)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("%+v: %d, error %v", test, got, err)
		}
	}
}

// TestWallClock checks that any time of a recording is one.
func TestWallClock(t *testing.T) {
	c := Fixed()
	for _, at := range []uint64{0, 1, 1 << 62, 1 << 63, 1<<64 - 2, 1<<64 - 1} {
		if got, want := c.Wall(at), time.Unix(0, int64(at)); !got.Equal(want) {
			t.Errorf("%d is %v, want %v", at, got, want)
		}
	}
}
