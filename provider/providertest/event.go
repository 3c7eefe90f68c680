package providertest

import (
	"slices"
	"time"

	"github.com/go-usdt/usdt/event/args"
)

// Event is one firing of a probe. An event.Event, which a tracer gets, has fields of the same
// names with the same values.
type Event struct {
	// Time is when the probe fired, by [time.Now].
	Time time.Time
	// PID is this process's number, and TID that of the thread that fired, 0 except on Linux.
	PID, TID int
	// Comm is the name of the program, at most 15 bytes.
	Comm string

	Provider, Name string
	Args           []args.Arg
}

// clone returns a copy of arguments, which the caller may change.
func clone(all []args.Arg) []args.Arg {
	all = slices.Clone(all)
	for i := range all {
		switch v := all[i].Value.(type) {
		case []byte:
			all[i].Value = slices.Clone(v)
		case args.Hex:
			all[i].Value = slices.Clone(v)
		case args.Struct:
			all[i].Value = args.Struct(clone(v))
		case args.List:
			all[i].Value = args.List(clone(v))
		}
	}
	return all
}
