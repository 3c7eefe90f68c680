package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// TestPace checks that what takes long is done seldom.
func TestPace(t *testing.T) {
	now := time.Duration(0)
	for took, want := range map[time.Duration]int{0: 1000, 10 * time.Millisecond: 1000, 217 * time.Millisecond: 91, time.Second: 20} {
		done := 0
		p := session.Pace{Every: time.Second, Clock: func() time.Duration { return now }}
		for range 1000 {
			if err := p.Do(func() error { done++; now += took; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if done != want {
			t.Errorf("what takes %v is done %d times of 1000, want %d", took, done, want)
		}
	}
	broken := errors.New("broken")
	if err := (&session.Pace{Every: time.Hour}).Do(func() error { return broken }); err != broken {
		t.Errorf("got %v, want %v", err, broken)
	}
}
