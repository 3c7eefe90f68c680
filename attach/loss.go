package attach

import (
	"time"

	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/source"
)

// Loss is a time in which N events were lost: none before From, and none after To.
type Loss struct {
	From, To time.Time
	N        uint64
}

// beginLosses begins to look for losses, unless all is known from the start.
func (t *tracing) beginLosses() error {
	if t.losses != nil {
		return nil
	}
	now, err := clock.Now()
	if err == nil {
		t.losses = source.NewLosses(now, t.lost)
	}
	return err
}

// lost returns how many events were lost until now. It takes no lock of the tracing: whoever
// matches starts and ends asks, with others held.
func (t *tracing) lost() (n uint64, err error) {
	for _, side := range t.sides {
		dropped, err := side.Dropped()
		if err != nil {
			return 0, err
		}
		n += dropped
	}
	return n, nil
}

// Losses returns when events were lost until now: between looks that are 20 ms apart while
// events are read, and up to 640 ms while none is, or as the file of a [Recorder] says. If there
// are very many, the oldest are joined into one.
func (s *stream) Losses() []Loss {
	if s.losses == nil {
		return nil // it has not begun
	}
	c := s.clock
	var all []Loss
	for _, l := range s.losses.List(c.Wall) {
		all = append(all, Loss(l))
	}
	return all
}
