package site

// Carrier is what stays the same from a start to its end: without a key, they are
// matched by it.
type Carrier uint8

const (
	NoCarrier   Carrier = iota
	ByThread            // code that is not Go's does not change threads
	ByGoroutine         // a goroutine may go on in another thread
	ByFrame             // a call of a function, identified by its frame's address
	Carriers
)

func (c Carrier) String() string {
	return [...]string{"nothing", "thread", "goroutine", "call"}[c]
}
