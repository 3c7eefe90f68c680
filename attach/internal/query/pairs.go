package query

// A pair that is recorded takes one place in the ring: the record of its end, the record of
// its start, and a footer. In the records only the time does not count: that of a start is
// taken when its record has been kept, and that of an end before anything is read.
const (
	PairStarted = 0  // u64: when the start fired
	PairElapsed = 8  // u64: nanoseconds from there to the end
	PairLength  = 16 // u64: bytes of the start's record

	PairFooter = 24
)

// pairRoom is the number of bytes in which a start's record is kept, or stands behind that
// of its end.
func (s *Signature) pairRoom() int {
	if s.Aggregate == nil || !s.Aggregate.Whole {
		return 0
	}
	return s.Aggregate.StartArgs + PairFooter
}

// MaxWaiting is how many starts of one key may wait for their ends at a time, as
// recursive calls do. If there are more, the outermost are forgotten, and
// counted.
const MaxWaiting = 32

// Starts are the starts of one key that wait for their end: the number of starts,
// and then the time of each of the last ones, by its own number modulo
// MaxWaiting; 0 where none waits.
type Starts [1 + MaxWaiting]uint64

// Waiting returns how many starts from before a time wait. The top bit of a start's time says
// that it is not wanted.
func (s *Starts) Waiting(before uint64) (n uint64) {
	for _, at := range s[1:] {
		if at != 0 && at<<1>>1 < before {
			n++
		}
	}
	return n
}

// Hanging returns how many of them are wanted.
func (s *Starts) Hanging(before uint64) (n uint64) {
	for _, at := range s[1:] {
		if at != 0 && at < before && at>>63 == 0 {
			n++
		}
	}
	return n
}

const (
	StartsAt   = 8
	StartsSize = StartsAt + 8*MaxWaiting
)
