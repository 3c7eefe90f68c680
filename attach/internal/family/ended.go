package family

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

// A process goes on for a while behind sched_process_exit, where others have programs too: it closes
// its files, releases its memory and signals its parent. So the program there reports the process,
// and the table keeps it for that long. Later processes with its PID are told apart by when they
// were started.

// overAfter is how long a process that was reported may take until it is over.
const overAfter = lookEvery

// end is a report that a process ends, as the program at sched_process_exit writes it.
type end struct {
	PID   uint32
	_     uint32
	Start uint64 // as in the table
}

// ending is a process that was reported.
type ending struct {
	start uint64
	at    time.Time
}

// newEnds returns the queue of reports. When it is full, processes are struck out at once.
func newEnds() (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_ends", Type: ebpf.Queue, ValueSize: 16, MaxEntries: room / 4})
	if err != nil {
		return nil, fmt.Errorf("create the queue of processes that end: %w", err)
	}
	return m, nil
}

// takeEnds takes the reports, and strikes out processes that are over.
func (f *Family) takeEnds(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.ends.MaxEntries() {
		var e end
		if err := f.ends.LookupAndDelete(nil, &e); errors.Is(err, ebpf.ErrKeyNotExist) {
			break
		} else if err != nil {
			return fmt.Errorf("take the processes that end: %w", err)
		}
		f.ending[e.PID] = ending{e.Start, now}
	}
	for pid, e := range f.ending {
		if now.Sub(e.at) < overAfter {
			continue
		}
		var life [2]uint64
		if f.Table.Lookup(pid, &life) == nil && life[0] == e.start { // else it is another process
			f.Table.Delete(pid)
		}
		delete(f.ending, pid)
	}
	return nil
}

// isEnding reports whether a process of the table was reported.
func (f *Family) isEnding(pid uint32, start uint64) bool {
	e, reported := f.ending[pid]
	return reported && e.start == start
}
