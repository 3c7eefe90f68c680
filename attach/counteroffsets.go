package attach

// Counters of events, one set per CPU: offsets in a value of maps.counters.
const (
	counterFired    = 0
	counterLost     = 8
	counterFiltered = 16
	counterBusy     = 24 // two: programs that are updating each of maps.groups

	// Of starts and ends, see PairStats:
	counterStarted   = 40 // starts that were noted
	counterTooDeep   = 48 // of these, that took the place of an outer one
	counterMatched   = 56 // ends that found their start
	counterDropped   = 64 // starts whose pair is not wanted, at one of its ends
	counterUnstarted = 72 // ends that found none

	countersSize = 80
)
