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
					continue // the summary also has the error
				}
				fmt.Fprintf(stderr, "sdttrace: %d events lost until now; %s\n", st.Lost, f.lossRemedy(s, st.Lost-told.Lost, st.Full-told.Full, st.Contended-told.Contended))
				told, last = st, now
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// lossRemedy says why most of the lost events were lost, and names the flags by which
// fewer are. full and contended are those of [attach.Stats].
func (f *traceFlags) lossRemedy(s tracer, lost, full, contended uint64) string {
	other := lost - full - contended
	_, latency := s.(*attach.Latency)
	_, sums := s.(aggregate)
	t, pairs := s.(*timeline)
	if pairs = pairs && len(t.spans) > 0; !pairs {
		_, pairs = s.(*attach.Pairs)
	}
	switch {
	case contended > max(full, other):
		return "too many goroutines write to the shared memory at once: --where or fewer probes help"
	case sums && full > other:
		return "the shared memory is full, since they fire faster than they can be added up: --where or fewer probes help"
	case pairs && full <= other:
		return "there is no room for so many pending starts: --where or fewer keys help"
	case latency:
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
	return fmt.Sprintf("the buffer of %s is full: a larger --buffer helps against bursts, --where or sdttrace count against a flood", size)
}
