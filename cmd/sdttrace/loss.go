package main

import (
	"fmt"
	"io"
	"sync"
	"time"
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
		var told uint64
		var last time.Time
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				st, err := s.Stats()
				if err != nil || st.Lost == told || now.Sub(last) < lossEvery {
					continue // the summary has the error, too
				}
				told, last = st.Lost, now
				fmt.Fprintf(stderr, "sdttrace: %d events lost until now; %s\n", st.Lost, f.lossRemedy())
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// lossRemedy names the flags by which fewer events are lost.
func (f *traceFlags) lossRemedy() string {
	switch {
	case f.aggregate.latency != "":
		return "there is no room for so many groups or pending starts: --max-groups, --where or fewer keys help"
	case f.aggregate.wanted() && len(f.aggregate.by) > 0:
		return "there is no room for their groups, or an argument cannot be read: --max-groups, --where or fewer keys help"
	case f.aggregate.wanted():
		return "an argument cannot be read"
	}
	size := "4M"
	if f.ringSize != 0 {
		size = formatBytes(int(f.ringSize))
	}
	return fmt.Sprintf("the buffer of %s is full: a larger --buffer helps against bursts, --where or --count against a flood", size)
}
