package attach

import "errors"

// source is where the records of a Session come from. Each kind of source is a
// file of its own, with a line in Session.open; neither a Session nor the decoder
// knows anything else of it. All methods may be called at any time before close,
// but only one goroutine at a time calls next, nap and drain.
type source interface {
	// next waits for a record in the format of internal/record, and returns it,
	// in buf or in memory that it gives for buf, and whether more are waiting. The
	// record is the caller's until the next call with it. After stop, the error is
	// errEnd when there are no more.
	next(buf []byte) (rec []byte, more bool, err error)
	// nap says, after next has returned a record, that the caller will look again by
	// itself: until the following call of next or drain, records need not wake it up.
	nap()
	// available reports whether records are waiting.
	available() bool
	// stop says that nothing records any more.
	stop() error
	// drain drops the waiting records and returns their number.
	drain() uint64
	// counts returns what became of events before they could be received: Fired,
	// Lost, Filtered and Missed.
	counts() (Stats, error)
	close() error
}

// errEnd says that a source has no more records.
var errEnd = errors.New("end of events")
