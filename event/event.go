package event

import (
	"time"

	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/internal/shape"
	"github.com/go-usdt/usdt/reader"
)

// Event is one firing of a probe.
type Event struct {
	// Time is when the probe fired, by the wall clock as it was set then; zero if the session
	// omits it.
	Time time.Time
	// PID and TID are the numbers of process and thread in the PID namespace of the
	// tracing process; from Linux 6.5 on, also for processes in namespaces within it.
	// They are 0, and null as JSON, if the thread that fired has no number there, or if the
	// session omits them.
	PID, TID int
	// Comm is the name of the thread, at most 15 bytes; empty if the session omits it.
	Comm string

	// Cgroup is the path of the control group in which the probe fired, from the root of its
	// hierarchy. Container is the name of the container that it belongs to, or the beginning of its
	// identifier, and Pod is NAMESPACE/NAME of the Kubernetes pod, or its UID; empty for none. All are
	// empty if the session does not ask for them.
	Cgroup, Container, Pod string

	// Provider and Name name the probe. For a function they are the base name
	// of its object and its own name, demangled.
	Provider, Name string
	Args           []Arg

	// Stack is the calls that led to the probe; nil if the session does not ask for
	// stacks.
	Stack *Stack

	// Probe is the site that fired. All its events share it. If many processes are
	// traced by their PIDs, it is the file's site, and Live is nil.
	Probe *reader.Probe
}

// Parts of events beside their arguments are decoded, written as JSON and read from it here;
// each part has a file.

func (d *decoder) decodeParts(ev *Event, r record.Record, s *shape.Shape) {
	d.decodeStack(ev, r, s)
	ev.Cgroup, ev.Container, ev.Pod = d.group(r, s)
}

// appendParts appends members of the event's object, each behind a comma.
func (e *Event) appendParts(dst []byte) []byte { return e.appendStack(e.appendGroup(dst)) }

// members are what JSON has of parts.
type members struct {
	stackMembers
	groupMembers
}

func (e *Event) setParts(m *members) error {
	e.Cgroup, e.Container, e.Pod = m.Cgroup, m.Container, m.Pod
	return e.setStack(&m.stackMembers)
}
