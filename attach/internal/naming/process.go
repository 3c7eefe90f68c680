package naming

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/symbols"
)

// Process names the code of a process.
type Process struct {
	code    *Code
	space   *symbols.Space
	started uint64       // as procfs.StartTime has it; 0 of a process that had ended
	checked time.Time    // when it was known to be this process; guarded by knownProcess.mu
	known   maplog.State // as the log had it
	over    atomic.Bool  // it had ended
	counted atomic.Bool  // in endings
	reads   reads        // of what it has mapped, of its PID

	lookBack sync.Once
	earlier  []*Process // before it executed another file, once that is asked for

	mu      sync.Mutex
	read    time.Time     // what the process has mapped
	version atomic.Uint64 // of names, unlike that of any other process
}

func (c *Code) newProcess(space *symbols.Space) *Process {
	s := &Process{code: c, space: space, checked: time.Now()}
	s.version.Store(c.version())
	return s
}

// reads counts how often a process was read because it had got code.
type reads struct {
	since time.Time
	n     int
}

// maxReads is how often that may be within checkInterval: a process may get code all the time,
// faster than it can be read.
const maxReads = 16

// readsAt returns the reads with one more; s may be nil.
func (s *Process) readsAt(now time.Time) reads {
	if s == nil || now.Sub(s.reads.since) >= checkInterval {
		return reads{now, 1}
	}
	return reads{s.reads.since, s.reads.n + 1}
}

// busy reports whether the process has been read too often; s may be nil.
func (s *Process) busy(now time.Time) bool {
	return s != nil && s.reads.n >= maxReads && now.Sub(s.reads.since) < checkInterval
}

const (
	// checkInterval is how often a process is looked at: it may have ended, and another
	// may have its number.
	checkInterval = 100 * time.Millisecond
	// readInterval is how long names are kept: the process may have executed another file,
	// or mapped another one at the same address.
	readInterval = time.Second
)

// expire reads what the process has mapped if that was long ago.
func (s *Process) expire(now time.Time) {
	s.mu.Lock()
	old := now.Sub(s.read) > readInterval
	s.mu.Unlock()
	if old {
		s.refresh(now)
	}
}

// Refresh reads what the process has mapped, and reports whether it lives.
func (s *Process) refresh(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.space.Refresh() != nil {
		return false
	}
	s.read = now
	s.version.Store(s.code.version())
	return true
}

// Version returns the version of the names.
func (s *Process) Version() uint64 { return s.version.Load() }

// Names implements decode.Code.
func (s *Process) Names(pc uint64, call bool) []symbols.Frame {
	if pc>>63 != 0 {
		return s.code.kernel.names(pc, call)
	}
	at := place{s.version.Load(), pc, call}
	names, ok := s.code.names.find(at)
	if ok {
		return names
	}
	if call {
		names = s.space.AppendCall(nil, pc)
	} else {
		names = s.space.AppendFrames(nil, pc)
	}
	s.code.names.keep(at, names)
	return names
}

// Unwind implements decode.Code.
func (s *Process) Unwind(dst []uint64, registers *symbols.Registers, stack []byte) symbols.Calls {
	return s.space.Unwind(dst, registers, stack)
}
