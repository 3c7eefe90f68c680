package discover

import (
	"testing"
	"time"
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
