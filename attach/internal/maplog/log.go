package maplog

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Log is what processes have mapped since it was opened. A nil Log knows nothing. Several
// goroutines may use it at once.
type Log struct {
	rings []*ring
	only  map[int]bool // processes; nil for all
	// members returns those processes that live; the children of processes are then in only as well
	members func() ([]int, error)
	wake    int // a descriptor that ends the goroutine
	ended   sync.WaitGroup
	newer   chan struct{} // says that there are processes in fresh; closed at the end
	shown   chan struct{} // closed when the caller of Follow's seen has ended; nil before Follow

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

	identifying sync.Mutex // of what follows; never held by who holds mu
	ids         map[file]identity
}

// maxFiles is how many files are known. After that, all are forgotten.
const maxFiles = 1 << 15

// Open returns a log of these processes, or of all if there are none; or, unless members is nil, of the
// processes that it returns and of what they start. The error says why the kernel does not tell this
// process.
func Open(pids []int, members func() ([]int, error)) (*Log, error) {
	l := newLog(pids)
	l.members = members
	var err error
	if l.rings, l.wake, err = openRings(buildIDs); err != nil {
		return nil, err
	}
	if l.members != nil { // whose children from now on are reported
		l.meet()
	}
	return l, nil
}

// maxOnly is how many processes are told apart, until the ended ones are forgotten.
const maxOnly = 1 << 16

// meet begins with the members that live. If these are not known, their children are not either.
func (l *Log) meet() {
	pids, _ := l.members()
	if l.only = only(pids); l.only == nil {
		l.only = map[int]bool{}
	}
}

// of reports whether something that happened is about a process of the log. Children of members are
// known once what happened before is.
func (l *Log) of(h *happening) bool {
	if l.members != nil && h.what == unix.PERF_RECORD_FORK && l.only[h.parent] {
		if len(l.only) >= maxOnly {
			l.meet()
		}
		l.only[h.pid] = true
	}
	return l.only == nil || l.only[h.pid]
}

func newLog(pids []int) *Log {
	return &Log{lives: map[int]*life{}, files: map[file]*file{}, ids: map[file]identity{}, fresh: map[int]bool{}, newer: make(chan struct{}, 1), only: only(pids)}
}

// only returns the set of processes, nil if there are none.
func only(pids []int) (set map[int]bool) {
	for _, pid := range pids {
		if set == nil {
			set = map[int]bool{}
		}
		set[pid] = true
	}
	return set
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
	poll(l.rings, l.wake, func() (more, used bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		before := l.count
		l.read()
		if len(l.fresh) > 0 {
			select {
			case l.newer <- struct{}{}:
			default: // it is said already
			}
		}
		return len(l.told) > 0, len(l.told) > 0 || l.count != before
	})
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
			if l.members == nil && !about(rec, l.only) {
				return
			}
			h, ok := parse(rec, true)
			if !ok {
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
	if !l.of(h) {
		return
	}
	p := l.life(h.pid)
	before := p.size()
	defer func() {
		for l.kept += p.size() - before; l.kept > maxKept && len(l.order) > 1; {
			l.forgetFirst()
		}
	}()
	if h.what != unix.PERF_RECORD_MMAP2 || h.mapped.file.regular() {
		l.count++
		p.changes = l.count
	}
	switch h.what {
	case unix.PERF_RECORD_FORK:
		im := image{parent: h.parent}
		if parent := l.lives[h.parent]; parent != nil {
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
	closeRings(l.rings, l.wake)
	l.rings = nil
}
