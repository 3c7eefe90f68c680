package groups

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// TestSayHanging checks that what hangs is said when that changes.
func TestSayHanging(t *testing.T) {
	counts, broken := []uint64{0, 2, 2, 1, 0, 0}, errors.New("broken")
	var told []uint64
	o := &Output{Interval: time.Second, pace: session.Pace{Clock: func() time.Duration { return 0 }}, Hang: func(n uint64) { told = append(told, n) }}
	if err := o.sayHanging(); err != nil { // of sums without starts
		t.Error(err)
	}
	o.Waiting = func(longer time.Duration) (uint64, error) {
		if longer != o.Interval {
			t.Errorf("asked for starts of %v, want %v", longer, o.Interval)
		}
		if len(counts) == 0 {
			return 0, broken
		}
		n := counts[0]
		counts = counts[1:]
		return n, nil
	}
	for len(counts) > 0 {
		if err := o.sayHanging(); err != nil {
			t.Error(err)
		}
	}
	if want := []uint64{2, 1, 0}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if err := o.sayHanging(); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}
