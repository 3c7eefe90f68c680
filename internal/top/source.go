package top

import "context"

// Source is what the screen shows.
type Source interface {
	// Read returns what fired since the last call, or since the beginning.
	Read() (Reading, error)
	// Arguments returns the names of a probe's arguments that a histogram can be of.
	Arguments(probe string) []string
	// Events traces a probe, in the process of an id or, if that is 0, in all. It
	// records one event in sample.
	Events(ctx context.Context, probe string, pid, sample int) (Tracing, error)
	// Stacks adds up events by the calls that led to them: by frame pointers, or by the
	// tables of call frames that compilers write for exceptions and debuggers.
	Stacks(ctx context.Context, probe string, pid, sample int, unwind bool) (Tracing, error)
	// Unwinds reports whether the code around a probe is likely to lack frame pointers, and
	// whether there is a choice.
	Unwinds(probe string) (unwind, choice bool)
	// Histogram adds up the values of an argument.
	Histogram(ctx context.Context, probe, argument string, pid int) (Tracing, error)
}

// Reading is what has been counted since the one before.
type Reading struct {
	Counts []Count
	// Probes are the probes that can fire.
	Probes []string
	Sites  int // that can fire
	// Refused are the sites that cannot, and why the first cannot.
	Refused int
	Reason  string
	Lost    uint64 // events that are in no count, since the beginning
	Remark  string // how the events come, if that needs to be said
	Ended   bool   // nothing will be counted any more: all processes have ended
}

// Count is how often a probe has fired in a process.
type Count struct {
	Probe string
	PID   int
	Comm  string
	N     uint64
}

// Tracing is what is traced of one probe until Close.
type Tracing interface {
	// Lines returns the last n lines at most, which are safe to print.
	Lines(n int) []string
	Close() error
}
