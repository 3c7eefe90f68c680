package discover

import (
	"context"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestPace loses reports before, and in the middle of, a scan: each process is looked at once more
// before long.
func TestPace(t *testing.T) {
	const took = time.Millisecond
	for _, test := range []struct {
		name    string
		lost    bool
		halfway bool
		left    []bool          // of the scans that follow
		waits   []time.Duration // after each
	}{
		{"nothing lost", false, false, []bool{false, true, false}, []time.Duration{time.Hour, time.Hour, time.Hour}},
		{"lost", true, false, []bool{false}, []time.Duration{time.Hour}},
		{"interrupted", true, false, []bool{true, true, false}, []time.Duration{newsShare * took, newsShare * took, time.Hour}},
		{"lost halfway", true, true, []bool{false, true, false}, []time.Duration{newsShare * took, newsShare * took, time.Hour}},
	} {
		p := pace{every: time.Hour, share: newsShare}
		if test.lost {
			p.lost(test.halfway)
		}
		for i, left := range test.left {
			if got := p.next(took, left); got != test.waits[i] {
				t.Errorf("%s: a wait of %v after scan %d, want %v", test.name, got, i, test.waits[i])
			}
		}
	}
}

// TestFollow checks that scans go on until the context is done.
func TestFollow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	scans, thens := 0, 0
	New(nil, &process.Set{}).Follow(ctx, time.Microsecond, func(Look, time.Time) func() {
		if scans++; scans == 3 {
			cancel()
		}
		return func() { thens++ }
	})
	if scans != 3 || thens != 3 {
		t.Errorf("%d scans, %d times what follows them", scans, thens)
	}
}

// TestFollowWaits checks that a scan which waits for something, as for a lock, is followed by another
// soon.
func TestFollowWaits(t *testing.T) {
	const wait, soon = time.Second, scanShare * time.Second / 2
	ctx, cancel := context.WithCancel(t.Context())
	var ended time.Time
	pause := time.Hour
	scans := 0
	New(nil, &process.Set{}).Follow(ctx, time.Millisecond, func(Look, time.Time) func() {
		if scans++; scans > 1 {
			pause = min(pause, time.Since(ended))
		}
		if pause <= soon || scans > 3 { // the machine may stand still between two
			cancel()
			return func() {}
		}
		time.Sleep(wait)
		ended = time.Now()
		return func() {}
	})
	if pause > soon {
		t.Errorf("the next scan began %v after one that had waited for %v", pause, wait)
	}
}
