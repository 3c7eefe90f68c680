package maplog

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Log is what processes have mapped since it was opened. A nil Log knows nothing. Several
// goroutines may use it at once.
type Log struct {
	rings []*ring
	only  map[int]bool // processes; nil for all
	wake  int          // a descriptor that ends the goroutine
	ended sync.WaitGroup
	newer chan struct{} // says that there are processes in fresh; closed at the end
	shown chan struct{} // closed when the caller of Follow's seen has ended; nil before Follow

	mu     sync.Mutex
	closed bool
	lives  map[int]*life
	kept   int            // mappings of all
	order  []*life        // by when they were first known
	files  map[file]*file // the known ones
	count  uint64         // of changes
	fresh  map[int]bool   // processes that have mapped files that were not known
	heads  []uint64       // of rings, when look was called
	told   []happening    // by time, what was read and is not applied yet
	lost   uint64         // records that the kernel had to drop
	losses uint64         // how often that was

	named named // what processes of a name have mapped

	identifying sync.Mutex // of what follows; never held by who holds mu
	ids         map[file]identity
}

// maxFiles is how many files are known. After that, all are forgotten.
const maxFiles = 1 << 15

// pause is how long the kernel may go on telling before it is read.
const pause = time.Millisecond

// Open returns a log of these processes, or of all if there are none. The error says why the kernel
// does not tell this process.
func Open(pids []int) (*Log, error) {
	l := newLog(pids)
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, err
	}
	// A search for watchers of probes takes an event without a program for one of perf's, whose
	// probe the kernel does not report (package watch). This program never runs, since the event
	// never counts. The events keep it.
	program, _ := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "usdt_maps", Type: ebpf.PerfEvent, License: "Dual MIT/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	defer program.Close()
	for cpu := range cpus {
		r, err := openRing(cpu)
		if errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			l.release()
			return nil, err
		}
		l.rings = append(l.rings, r)
		if program != nil {
			unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD()) // without it, only more is said than is sure
		}
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		l.release()
		return nil, os.NewSyscallError("eventfd", err)
	}
	return l, nil
}

func newLog(pids []int) *Log {
	l := &Log{lives: map[int]*life{}, files: map[file]*file{}, ids: map[file]identity{}, fresh: map[int]bool{}, newer: make(chan struct{}, 1)}
	if len(pids) > 0 {
		l.only = map[int]bool{}
		for _, pid := range pids {
			l.only[pid] = true
		}
	}
	return l
}

// Follow reads what the kernel reports, in a goroutine, before the rings are full, until the log
// is closed. It calls seen soon after a process has mapped a file that no other has mapped
// before, so that the file can be opened while the process has it. That may take long, or for
// ever, where a file system does not answer: Close waits for it for a while only. Follow is
// called once.
func (l *Log) Follow(seen func(pid int)) {
	l.shown = make(chan struct{})
	go l.show(seen)
	l.ended.Go(l.follow)
}

// show calls seen with processes that have mapped files that were not known.
func (l *Log) show(seen func(pid int)) {
	defer close(l.shown)
	for range l.newer {
		l.mu.Lock()
		fresh := l.fresh
		l.fresh = map[int]bool{}
		l.mu.Unlock()
		for pid := range fresh {
			if l.over() {
				return
			}
			seen(pid)
		}
	}
}

func (l *Log) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *Log) follow() {
	defer close(l.newer)
	polled := []unix.PollFd{{Fd: int32(l.wake), Events: unix.POLLIN}}
	for _, r := range l.rings {
		polled = append(polled, unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN})
	}
	for wait := -1; ; {
		if _, err := unix.Poll(polled, wait); err != nil && err != unix.EINTR {
			return
		}
		if polled[0].Revents != 0 {
			return
		}
		l.mu.Lock()
		l.read()
		fresh := len(l.fresh) > 0
		wait = -1
		if len(l.told) > 0 {
			wait = 0
		}
		l.mu.Unlock()
		if fresh {
			select {
			case l.newer <- struct{}{}:
			default: // it is said already
			}
		}
		for i := range polled {
			polled[i].Revents = 0
		}
		unix.Poll(polled[:1], int(pause/time.Millisecond))
	}
}

// read takes what the kernel has reported, at least all that it had reported before the call.
// l.mu is locked.
func (l *Log) read() {
	if l.closed {
		return
	}
	l.look()
	l.take()
}

// look notes what each ring has.
func (l *Log) look() {
	l.heads = l.heads[:0]
	for _, r := range l.rings {
		l.heads = append(l.heads, r.head())
	}
}

// take reads the rings after look, and applies what happened by the order in which it did.
//
// A process that goes from one CPU to another has left in the first one's ring what it did,
// before it did anything else. But when the second one's ring is read, that of the first may have
// been read already. So take applies only what look has seen and what happened before that:
// everything earlier was there when the rings were read. Newer entries wait for the next time.
func (l *Log) take() {
	until := uint64(0)
	if n := len(l.told); n > 0 {
		until = l.told[n-1].at // which waited
	}
	for i, r := range l.rings {
		r.read(func(rec []byte, at uint64) {
			h, ok := parse(rec)
			if !ok || l.only != nil && !l.only[h.pid] && h.what != unix.PERF_RECORD_LOST {
				return
			}
			if at < l.heads[i] {
				until = max(until, h.at)
			}
			l.told = append(l.told, h)
		})
	}
	slices.SortStableFunc(l.told, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(l.told) && l.told[n].at <= until; n++ {
		l.apply(&l.told[n])
	}
	l.told = slices.Delete(l.told, 0, n)
}

func (l *Log) apply(h *happening) {
	if h.what == unix.PERF_RECORD_LOST {
		l.lost += h.lost
		l.losses++
		return
	}
	p := l.life(h.pid)
	before := p.size()
	defer func() {
		for l.kept += p.size() - before; l.kept > maxKept && len(l.order) > 1; {
			l.forgetFirst()
		}
	}()
	if h.what == unix.PERF_RECORD_COMM {
		p.comm = h.comm
		if !h.exec {
			l.renamed(p)
			return
		}
	}
	if h.what != unix.PERF_RECORD_MMAP2 || h.mapped.file.regular() {
		l.count++
		p.changes = l.count
	}
	switch h.what {
	case unix.PERF_RECORD_FORK:
		im := image{parent: h.parent}
		if parent := l.lives[h.parent]; parent != nil {
			p.comm = parent.comm
			if len(parent.images) > 0 {
				im = parent.child()
			}
		}
		p.begin(im)
	case unix.PERF_RECORD_COMM:
		p.begin(image{whole: true})
	default:
		m := h.mapped
		m.at = h.at
		known, ok := l.files[m.file]
		if !ok {
			if len(l.files) >= maxFiles {
				clear(l.files)
			}
			f := m.file
			known = &f
			l.files[f] = known
			if f.regular() && len(l.fresh) < maxLives {
				l.fresh[h.pid] = true
			}
		}
		m.file = *known // which shares its strings
		p.add(m)
		l.mapped(p, m.file)
	}
}

// forgetFirst forgets the process that was known first.
func (l *Log) forgetFirst() {
	first := l.order[0]
	l.kept -= first.size()
	delete(l.lives, first.pid)
	l.order = l.order[1:]
}

// life returns what is known of a process, which may be nothing yet.
func (l *Log) life(pid int) *life {
	p := l.lives[pid]
	if p == nil {
		if len(l.order) >= maxLives {
			l.forgetFirst()
		}
		p = &life{pid: pid}
		l.lives[pid] = p
		l.order = append(l.order, p)
	}
	return p
}

// State is what is known of a process at a time.
type State struct {
	Images  int
	Changes uint64 // another number when it has got code since from a file
	// Losses is another number when something was lost since, perhaps of this process, and
	// the kernel has said so: it does so before its next report from that CPU.
	Losses uint64
}

// State returns what is known of a process. It is as new as what the caller has learnt of the
// process: an event that has been read, say.
func (l *Log) State(pid int) (s State) {
	if l == nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.told) > 0 || slices.ContainsFunc(l.rings, (*ring).waiting) {
		l.read()
	}
	s.Losses = l.losses
	if p := l.lives[pid]; p != nil {
		s.Images, s.Changes = len(p.images), p.changes
	}
	return s
}

// Lost returns how many records the kernel had to drop because a ring was full, of all processes.
func (l *Log) Lost() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	lost, counted := uint64(0), len(l.rings) > 0
	for _, r := range l.rings {
		n, ok := r.lost()
		lost, counted = lost+n, counted && ok
	}
	if counted {
		return lost
	}
	return l.lost // which it says once there is room again
}

// Older reports whether a process that has got code since was there before the log, and has
// executed no other file.
func (l *Log) Older(pid int) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.lives[pid]
	return p != nil && len(p.images) == 1 && !p.images[0].whole && p.images[0].parent == 0
}

// maxWait is how long Close waits for what Follow calls.
const maxWait = time.Second

// Close forgets everything. Calling it again is safe.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return
	}
	unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	l.ended.Wait()
	if l.shown != nil {
		select {
		case <-l.shown:
		case <-time.After(maxWait): // what it waits for may never come
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unix.Close(l.wake)
	l.release()
}

func (l *Log) release() {
	for _, r := range l.rings {
		r.close()
	}
	l.rings = nil
}
