package event

import (
	"time"

	"github.com/go-usdt/usdt/reader"
)

// Event is one firing of a probe.
type Event struct {
	// Time is when the probe fired, by the clock on the wall as it was set then.
	Time time.Time
	// PID and TID are process and thread as the PID namespace of the process that
	// traces numbers them, also those of namespaces within, from Linux 6.5 on; 0, and
	// null as JSON, if the one that fired has no number there.
	PID, TID int
	// Comm is the name of the thread, at most 15 bytes.
	Comm string

	// Provider and Name are the probe's. For a function they are the base name of
	// its object and its own name, demangled.
	Provider, Name string
	Args           []Arg

	// Probe is the site that fired. It is shared by all its events. Where many
	// processes are traced by their PIDs, it is that of the file, in no process.
	Probe *reader.Probe
}
