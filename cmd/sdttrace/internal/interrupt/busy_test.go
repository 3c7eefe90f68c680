package interrupt

import (
	"testing"
	"time"
)

// TestBusy compares work with waiting.
func TestBusy(t *testing.T) {
	const long = 100 * time.Millisecond
	worked := time.Duration(0)
	for range 20 { // the whole machine may stand still meanwhile
		before := busy()
		for began := time.Now(); time.Since(began) < long; {
		}
		if worked = max(worked, busy()-before); worked >= long/2 {
			break
		}
	}
	if worked < long/2 {
		t.Errorf("%v of work counted as %v", long, worked)
	}
	waited := long
	for range 20 { // the runtime may collect garbage meanwhile
		before := busy()
		time.Sleep(long)
		waited = min(waited, busy()-before)
	}
	if waited > long/10 {
		t.Errorf("%v without work counted as %v", long, waited)
	}
}
