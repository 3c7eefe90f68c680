package remark

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
)

// SerialWriter is a writer for several goroutines.
type SerialWriter struct {
	mu   sync.Mutex
	W    io.Writer
	said map[string]bool // see once
}

func (s *SerialWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.W.Write(b)
}

// once writes a remark unless one that says the same was written before.
func once(w io.Writer, same, remark string) {
	if s, ok := w.(*SerialWriter); ok {
		s.mu.Lock()
		said := s.said[same]
		if s.said == nil {
			s.said = map[string]bool{}
		}
		s.said[same] = true
		s.mu.Unlock()
		if said {
			return
		}
	}
	fmt.Fprintf(w, "sdttrace: %s\n", remark)
}

const (
	lossPoll  = 500 * time.Millisecond
	lossEvery = 10 * time.Second // at most, after the first time
)

// Losses reports on stderr that events are being lost, and which flag helps, until the returned
// function is called. buffer is the size of the buffer between the kernel and sdttrace, as text.
func Losses(s session.Session, buffer string, stderr io.Writer) (finish func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lossPoll)
		defer tick.Stop()
		var told attach.Stats
		var last time.Time
		var deep uint64
		var advice string
		pace := session.Pace{Every: lossPoll}
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				st, err := told, error(nil)
				pace.Do(func() error { // it may read tens of thousands of starts
					st, err = s.Stats()
					return err
				})
				if err != nil || st.Lost == told.Lost && st.Missed == told.Missed || now.Sub(last) < lossEvery {
					continue // the summary also has the error
				}
				if st.Missed != told.Missed {
					fmt.Fprintf(stderr, "sdttrace: until now %s\n", missed(s, st.Missed))
				}
				if st.Lost == told.Lost {
					told, last = st, now
					continue
				}
				before := deep
				deep = tooDeep(s)
				lost := printable.Many(st.Lost, "event", "events") + " lost until now"
				if remedy := lossRemedy(s, buffer, st.Lost-told.Lost, st.Full-told.Full, st.Contended-told.Contended, deep-before); remedy != advice {
					advice, lost = remedy, lost+"; "+remedy
				}
				fmt.Fprintf(stderr, "sdttrace: %s\n", lost)
				told, last = st, now
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// tooDeep counts the starts that were forgotten since too many others of their key followed.
func tooDeep(s session.Session) (n uint64) {
	all, err := spansOf(s)
	if err != nil {
		return 0 // the summary also has the error
	}
	for i := range all {
		n += all[i].TooDeep
	}
	return n
}

// missed says why n events were missed, and what lacks them.
func missed(s session.Session, n uint64) string {
	text := fmt.Sprintf("%s missed: the kernel did not run the program, since it, or another probe, was running on that CPU", printable.Many(n, "event", "events"))
	if _, sums := s.(session.Aggregate); sums {
		text += "; what was added up is incomplete"
	}
	return text
}

// lossRemedy says why most of the lost events were lost, and names the flags by which
// fewer are. full and contended come from [attach.Stats], deep from [attach.PairStats].
func lossRemedy(s session.Session, buffer string, lost, full, contended, deep uint64) string {
	other := lost - full - contended
	if deep > max(full, contended, lost/2) {
		return fmt.Sprintf("more than %d starts of a key followed each other without an end: starts never end, or nest deeply. Each end is paired with the last start", nesting)
	}
	_, latency := s.(*attach.Latency)
	_, sums := s.(session.Aggregate)
	t, pairs := s.(*session.Timeline)
	if pairs = pairs && len(t.Spans) > 0; !pairs {
		_, pairs = s.(*attach.Pairs)
	}
	switch {
	case contended > max(full, other):
		return "too many goroutines write to the shared memory at once: --where or fewer probes help"
	case sums && full > other:
		return "the shared memory is full, since they fire faster than they can be added up: --where or fewer probes help"
	case pairs && full <= other:
		return "too many starts are pending: --where or fewer keys help"
	case latency:
		return "too many starts are pending, or an argument cannot be read: --where or fewer keys help"
	case sums:
		return "an argument cannot be read"
	}
	return fmt.Sprintf("the buffer of %s is full: a larger --buffer helps against bursts, --where or sdttrace count against a flood", buffer)
}
