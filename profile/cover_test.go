package profile

import (
	"bytes"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// TestCover checks that a profile of a recording has its time, and not that of whoever reads it.
func TestCover(t *testing.T) {
	p := New("")
	began := time.Unix(1_000_000, 5)
	for _, after := range []time.Duration{time.Second, 0, 3 * time.Second, 2 * time.Second} {
		p.Cover(began.Add(after))
	}
	var out bytes.Buffer
	if err := p.WritePprof(&out); err != nil {
		t.Fatal(err)
	}
	got, err := pprof.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	if got.TimeNanos != began.UnixNano() || got.DurationNanos != int64(3*time.Second) {
		t.Errorf("the profile is of %v for %v, want %v for 3s", time.Unix(0, got.TimeNanos), time.Duration(got.DurationNanos), began)
	}
}
