package source

import "time"

// Pace says when the reader of a ring buffer pauses. The kernel wakes up a reader that has
// read everything for the next event, which costs the program that fires more than all the
// rest of the event does. While the reader pauses, events wake nobody (Nap of [Source]): they
// gather in the buffer.
type Pace struct {
	Room int       // of the buffer, in bytes
	from time.Time // when everything had been read last

	events, bytes int // read since then
}

const (
	// often is how far apart the events of a fast stream are, at most. Others are
	// delivered at once.
	often = 500 * time.Microsecond
	// Gather is how long a pause is, and so how much later an event of a fast stream may
	// arrive.
	Gather = time.Millisecond
	// Lull is how long a fast stream may stop and still find its reader pausing, a few times
	// Gather. Bursts of events then wake nobody either.
	Lull = 10 * time.Millisecond
	// burst is how many bytes a pause has to be prepared for, even if there were fewer
	// until now.
	burst = 256 << 10
)

// Add counts a record that was read.
func (p *Pace) Add(size int) {
	p.events++
	p.bytes += size
}

// Pauses reports, when everything has been read, whether to pause before more is read: in a
// fast stream, if what comes meanwhile fills no more than a quarter of the buffer.
func (p *Pace) Pauses(now time.Time) bool {
	took, events, bytes := now.Sub(p.from), p.events, p.bytes
	p.from, p.events, p.bytes = now, 0, 0
	if took >= time.Duration(events)*often {
		return false
	}
	expected := float64(bytes) * float64(Gather) / float64(max(took, time.Microsecond))
	return max(expected, burst) <= float64(p.Room)/4
}
