package maplog

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// News says which processes have mapped code of a file for the first time: any process of a
// file that none had mapped since the news began, or a chosen one of a file that it had not since
// it executed its program. It keeps what files are known, and nothing of processes.
type News struct {
	only map[int]bool  // processes; nil for all
	C    chan struct{} // has a value when Take has something
	once sync.Once

	known    map[codeFile]bool // of who reads reports
	programs map[int]string    // what processes have executed since, "" until it is mapped; nil if that does not matter

	mu      sync.Mutex // of what follows
	mappers []Mapper
	lost    bool
}

// codeFile is a file with code; its pid is 0 where all processes count.
type codeFile struct {
	pid               int
	program           string // that the process has executed, where that matters
	device            uint64
	inode, generation uint64
}

// Mapper is a process that has mapped files, by their paths as it sees them.
type Mapper struct {
	PID   int
	Paths []string
	Since time.Time // the first of them
	Until time.Time // the last of them, or later
}

// OpenNews returns news of these processes, or of all if there are none. byProgram says that a file
// counts again when a process maps it that runs another program, whose path is then among its Paths.
// The error says why the kernel does not report mappings to this process.
func OpenNews(pids []int, byProgram bool) (*News, error) {
	n := &News{C: make(chan struct{}, 1), known: map[codeFile]bool{}, only: only(pids)}
	if byProgram {
		n.programs = map[int]string{}
	}
	if err := shared.join(n); err != nil {
		return nil, err
	}
	return n, nil
}

// take notes what has happened, between two times.
func (n *News) take(h *happening, from, to time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case h.what == unix.PERF_RECORD_LOST:
		n.lost = true
	case h.what == unix.PERF_RECORD_COMM && n.only != nil:
		maps.DeleteFunc(n.known, func(f codeFile, _ bool) bool { return f.pid == h.pid })
	case h.what == unix.PERF_RECORD_COMM && n.programs != nil:
		if len(n.programs) >= maxFiles {
			clear(n.programs)
		}
		n.programs[h.pid] = ""
	case h.what == unix.PERF_RECORD_MMAP2 && h.mapped.file.regular():
		n.note(h, from, to)
	}
}

// say says so if there is something for Take.
func (n *News) say() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mappers) == 0 && !n.lost {
		return false
	}
	select {
	case n.C <- struct{}{}:
	default: // it is said already
	}
	return true
}

func (n *News) note(h *happening, from, to time.Time) {
	f := codeFile{device: h.mapped.file.device, inode: h.mapped.file.inode, generation: h.mapped.file.generation}
	if len(n.only) > 0 {
		f.pid = h.pid
	}
	path := strings.TrimSuffix(h.mapped.file.path, deleted)
	program, executed := n.programs[h.pid]
	if executed && program == "" { // it is mapped first
		program = path
		n.programs[h.pid] = path
	}
	if f.program = program; n.known[f] {
		return
	}
	if len(n.known) >= maxFiles {
		clear(n.known)
	}
	n.known[f] = true
	i := slices.IndexFunc(n.mappers, func(m Mapper) bool { return m.PID == h.pid })
	if i < 0 {
		if len(n.mappers) >= maxMappers {
			n.lost = true
			return
		}
		i = len(n.mappers)
		n.mappers = append(n.mappers, Mapper{PID: h.pid, Since: from})
		if program != "" && program != path {
			n.mappers[i].Paths = []string{program}
		}
	}
	n.mappers[i].Paths, n.mappers[i].Until = append(n.mappers[i].Paths, path), to
}

// maxMappers bounds the processes that wait for Take: more are looked for among all.
const maxMappers = 1 << 8

// Take returns the processes since its last call. lost says that there may be others.
func (n *News) Take() (mappers []Mapper, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	mappers, lost = n.mappers, n.lost
	n.mappers, n.lost = nil, false
	return mappers, lost
}

// Close ends the news. Calling it again is safe.
func (n *News) Close() {
	n.once.Do(func() { shared.leave(n) })
}

// monotonic returns the time of the kernel's reports.
func monotonic() uint64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return uint64(ts.Nano())
}
