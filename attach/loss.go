package attach

import (
	"time"

	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/source"
)

// Loss is a time in which N events were lost: none before From, and none after To.
type Loss struct {
	From, To time.Time
	N        uint64
}

// beginLosses returns the losses of a tracing that is about to begin.
func (t *tracing) beginLosses() (*source.Losses, error) {
	if t.local != nil && t.local.recordings != nil {
		return t.local.recordings.Lost, nil
	}
	now, err := clock.Now()
	if err != nil {
		return nil, err
	}
	return source.NewLosses(now, t.lost), nil
}

// lost returns how many events were lost until now. It takes no lock of the tracing: whoever
// matches starts and ends asks, with others held.
func (t *tracing) lost() (n uint64, err error) {
	if t.maps != nil {
		c, err := t.maps.count()
		if err != nil {
			return 0, err
		}
		n = c.at(codegen.CounterLost) + c.at(codegen.CounterFull)
	}
	if t.local != nil {
		st, err := t.local.Counts()
		if err != nil {
			return 0, err
		}
		n += st.Lost
	}
	return n, nil
}

// Losses returns when events were lost until now: between looks that are 20 ms apart, or as
// the file of a [Recorder] says. If there are very many, the oldest are joined into one.
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
