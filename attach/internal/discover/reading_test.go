package discover

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/attach/internal/process"
)

// TestOneReading has twenty searches follow the same report of a mapping at a time: the process is read once,
// and all find its probes. After a later mapping it is read again.
func TestOneReading(t *testing.T) {
	self := os.Getpid()
	all := make([]*Search, 20)
	for i := range all {
		all[i] = New(parsed(t, "shop:*"), &process.Set{})
	}
	var before *reading
	for range 2 {
		m := mapFile(t, object.Write(t, "shop.so"))
		report := []maplog.Mapper{{PID: self, Until: time.Now()}}
		var looks sync.WaitGroup
		for _, d := range all {
			looks.Go(func() {
				if found, err := d.of(context.Background(), report); err != nil || found.Len() != 2 || found[0][0].Probe.Path != m.path {
					t.Errorf("got %q, %v, want the two probes of %s", names(found), err, m.path)
				}
			})
		}
		looks.Wait()
		now := latest.since(self, report[0].Until)
		if now == before || len(now.objects) == 0 || now.begun.Before(report[0].Until) {
			t.Errorf("the last reading has %d files, and is the one before: %t", len(now.objects), now == before)
		}
		before = now
	}
}

// TestReadings checks which readings are the same, and that they are kept only for a while.
func TestReadings(t *testing.T) {
	var r readings
	first := r.since(1, time.Now())
	if r.since(1, first.begun) != first {
		t.Error("a reading that was begun at that time is not used")
	}
	if later := r.since(1, time.Now().Add(time.Nanosecond)); later == first {
		t.Error("a reading is used that was begun before")
	}
	for pid := range 2 * maxReadings {
		r.since(pid, time.Now())
	}
	if len(r.of) > maxReadings {
		t.Errorf("%d readings are kept", len(r.of))
	}
	for _, one := range r.of {
		one.begun = one.begun.Add(-lasting)
	}
	r.end.Stop()
	if r.expire(); len(r.of) > 0 || r.end != nil {
		t.Errorf("%d readings are kept for longer", len(r.of))
	}
}
