package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
)

// serialWriter is a writer for several goroutines.
type serialWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serialWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

const (
	lossPoll  = 500 * time.Millisecond
	lossEvery = 10 * time.Second // at most, after the first time
)

// announceLosses reports on stderr that events are being lost, and which flag helps,
// until the returned function is called.
func (f *traceFlags) announceLosses(s tracer, stderr io.Writer) (finish func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lossPoll)
		defer tick.Stop()
		var told attach.Stats
		var last time.Time
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				st, err := s.Stats()
				if err != nil || st.Lost == told.Lost || now.Sub(last) < lossEvery {
					continue // the summary has the error, too
				}
				fmt.Fprintf(stderr, "sdttrace: %d events lost until now; %s\n", st.Lost, f.lossRemedy(st.Lost-told.Lost, st.Full-told.Full, st.Contended-told.Contended))
				told, last = st, now
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// printLost reports the events that a sum lacks because of their argument. Replayed files may
// have lost others.
func (f *traceFlags) printLost(stderr io.Writer, s tracer) error {
	if f.aggregate.value == "" || f.replayed != nil {
		return nil
	}
	st, err := s.Stats()
	if n := st.Lost - st.Full - st.Contended; err == nil && n > 0 {
		fmt.Fprintf(stderr, "sdttrace: %d events lost: their %s could not be read, is not finite, or is beyond what can be added up\n", n, f.aggregate.value)
	}
	return err
}

// lossRemedy says why most of the lost events were lost, and names the flags by which
// fewer are. full and contended are those of [attach.Stats].
func (f *traceFlags) lossRemedy(lost, full, contended uint64) string {
	other := lost - full - contended
	sums := f.aggregate.adds()
	switch {
	case contended > max(full, other):
		return "too many goroutines write to the shared memory at once: --where or fewer probes help"
	case sums && full > other:
		return "the shared memory is full, since they fire faster than they can be added up: --where or fewer probes help"
	case (f.aggregate.slower.given || len(f.timeline.spans) > 0) && full <= other:
		return "there is no room for so many pending starts: --where or fewer keys help"
	case sums && f.aggregate.latency != "":
		return "there is no room for so many pending starts, or an argument cannot be read: --where or fewer keys help"
	case sums:
		return "an argument cannot be read"
	}
	size := "4M"
	switch {
	case f.ringSize != 0:
		size = formatBytes(int(f.ringSize))
	case f.stack.unwind:
		size = "64M"
	}
	return fmt.Sprintf("the buffer of %s is full: a larger --buffer helps against bursts, --where or --count against a flood", size)
}
