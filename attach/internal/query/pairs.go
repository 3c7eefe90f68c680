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
