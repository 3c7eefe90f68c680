package site

// Carrier is what stays the same from a start to its end, by which they are
// matched if no key is given.
type Carrier uint8

const (
	NoCarrier   Carrier = iota
	ByThread            // which code that is not Go's does not leave
	ByGoroutine         // which may go on in another thread
	ByFrame             // a call of a function, told by where its frame is
	Carriers
)

func (c Carrier) String() string {
	return [...]string{"nothing", "thread", "goroutine", "call"}[c]
}
