package ring

// Counts is what became of the events that a ring's probes have fired.
type Counts struct {
	Recorded  uint64 // in the ring, whether they were read or not
	Full      uint64 // lost, since the tracer had not made room, or could never have
	Contended uint64 // lost, since every shard was being written to
	Filtered  uint64 // not recorded, because of a condition or a sample
}

// Fired returns the number of all events.
func (c Counts) Fired() uint64 { return c.Recorded + c.Full + c.Contended + c.Filtered }

// Lost returns the number of events that should have been recorded and were not.
func (c Counts) Lost() uint64 { return c.Full + c.Contended }
