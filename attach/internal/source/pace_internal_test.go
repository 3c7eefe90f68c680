package source

import (
	"testing"
	"time"
)

// TestPace checks when a reader pauses that has read everything: in a fast stream, and if
// there is room for what comes meanwhile.
func TestPace(t *testing.T) {
	const room = 4 << 20
	for _, test := range []struct {
		name         string
		room         int
		events, size int // read in each round
		took         time.Duration
		want         bool
	}{
		{"alone", room, 1, 64, 10 * time.Millisecond, false},
		{"one each half millisecond", room, 1, 64, often, false},
		{"one a little more often", room, 1, 64, often - time.Microsecond, true},
		{"one each 20 µs", room, 1, 64, 20 * time.Microsecond, true},
		{"gathered in a pause", room, 50, 64, Gather + 100*time.Microsecond, true},
		{"one in a pause", room, 1, 64, Gather, false},
		{"none", room, 0, 0, Gather, false},
		{"at the same moment", room, 1, 64, 0, true},
		{"a small buffer", room / 8, 50, 64, Gather, false},
		{"large records", room, 60, 16 << 10, Gather, true},
		{"too many large records", room, 70, 16 << 10, Gather, false},
		{"no buffer", 0, 50, 64, Gather, false},
	} {
		now := time.Now()
		p := Pace{Room: test.room, from: now}
		for round := range 3 { // each is judged by itself
			for range test.events {
				p.Add(test.size)
			}
			now = now.Add(test.took)
			if got := p.Pauses(now); got != test.want {
				t.Errorf("%s, round %d: pauses %t, want %t", test.name, round, got, test.want)
			}
		}
	}
	first := Pace{Room: room}
	if first.Add(64); first.Pauses(time.Now()) {
		t.Error("a reader pauses after the first event")
	}
}
