package plan

import (
	"errors"
	"fmt"

	"github.com/go-usdt/usdt/reader"
)

// semaphore refuses sites whose semaphore would not count.
func (pl *Planner) semaphore(s *site) {
	err := s.probe.SemaphoreErr
	switch {
	case err == nil, errors.Is(err, reader.ErrMiscounted): // package semaphore makes up for it
	case errors.Is(err, reader.ErrBss) && s.pid != 0 && s.probe.SemaphoreOffset != 0:
		s.note(err.Error() + ": armed as long as the process runs")
	default:
		s.Reason = fmt.Errorf("%w: %w", err, ErrSilent)
	}
}
