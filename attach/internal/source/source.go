package source

import (
	"errors"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// Source is where the records of a Session come from. Each kind of source is a
// file of its own; neither a Session nor the decoder knows anything else of it. All methods
// may be called at any time before Close, but only one goroutine at a time calls Next, Nap
// and Drain.
type Source interface {
	// Next waits for a record in the format of internal/record, and returns it,
	// in buf or in memory that it gives for buf, and whether more are waiting. The
	// record is the caller's until the next call with it. After Stop, the error is
	// ErrEnd when there are no more.
	Next(buf []byte) (rec []byte, more bool, err error)
	// Nap says, after Next has returned a record, that the caller will look again by
	// itself: until the following call of Next or Drain, records need not wake it up.
	Nap()
	// Available reports whether records are waiting.
	Available() bool
	// Stop says that nothing records any more.
	Stop() error
	// Drain drops the waiting records and returns their number.
	Drain() uint64
	// Rounds returns how often was looked at what others write, as long as they may go on; 0 for
	// a source that need not look.
	Rounds() uint64
	// AddFaults adds what conditions that are tested here could not read.
	AddFaults(all map[query.Fault]uint64)
	// Counts returns what became of events before they could be received: Fired,
	// Lost, Filtered and Missed.
	Counts() (Counts, error)
	Close() error
}

// ErrEnd says that a source has no more records.
var ErrEnd = errors.New("end of events")
