package source

// Counts are what became of events before they could be received, as [Stats] says.
type Counts struct {
	Fired, Received, Lost, Filtered, Missed uint64

	Unmatched, Full, Contended uint64
}

// add adds the numbers of another source.
func (c *Counts) add(more Counts) {
	c.Fired += more.Fired
	c.Received += more.Received
	c.Lost += more.Lost
	c.Filtered += more.Filtered
	c.Missed += more.Missed
	c.Unmatched += more.Unmatched
	c.Full += more.Full
	c.Contended += more.Contended
}
