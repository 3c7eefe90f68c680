package query

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

const (
	StartsAt   = 8
	StartsSize = StartsAt + 8*MaxWaiting
)
