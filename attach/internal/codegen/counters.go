package codegen

// Counters of events, one set per CPU: offsets in a value of Refs.Counters.
const (
	CounterFired    = 0
	CounterLost     = 8
	CounterFiltered = 16
	CounterBusy     = 24 // two counters: programs that are updating each of Refs.Groups

	// Of starts and ends, see PairStats of package attach:
	CounterStarted   = 40 // starts that were noted
	CounterTooDeep   = 48 // of these, starts that took the place of an outer one
	CounterMatched   = 56 // ends that found their start
	CounterDropped   = 64 // starts whose pair is not wanted, at one of its ends
	CounterUnstarted = 72 // ends that found no start

	CountersSize = 80
)
