package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/record"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// MaxStack is the largest [Options.Stack].
const MaxStack = record.MaxStack

// MaxUnwound is the largest [Options.Stack] with Unwind.
const MaxUnwound = 1024

// checkStack returns why the option Stack cannot be used.
func (o *Options) checkStack() error {
	most := MaxStack
	if o.Unwind {
		most = MaxUnwound
	}
	switch {
	case o.Stack < 0 || o.Stack > most:
		return fmt.Errorf("%d is not between 0 and %d addresses", o.Stack, most)
	case o.Stack == 0 && o.Unwind:
		return errors.New("0 asks for no stacks, and Unwind is for them")
	case o.Unwind && len(o.Target.Recordings) > 0:
		return errors.New("how stacks are read was decided when they were recorded")
	}
	return nil
}

// codeNames names the code of the processes in which probes fire.
type codeNames struct {
	resolver *symbols.Resolver
	log      *maplog.Log // nil if the kernel does not tell

	mu        sync.Mutex // no file is read while it is locked
	processes map[int]*knownProcess
	names     nameCache
	versions  atomic.Uint64
	asides    sync.WaitGroup
	closed    atomic.Bool
	refreshes atomic.Bool   // one is under way
	endings   atomic.Uint64 // processes that had ended when a stack of theirs was named
}

// newCodeNames returns what names code. Of processes that are known from the start it looks at
// once, since they may end soon. With logged, it knows also those that have ended before anybody
// looked at them, if the kernel tells this process.
func newCodeNames(pids []int, logged bool) *codeNames {
	c := &codeNames{resolver: symbols.NewResolver(nil), processes: map[int]*knownProcess{}}
	if logged {
		if log, err := maplog.Open(pids); err == nil {
			c.log = log
			log.Follow(func(pid int) {
				c.resolver.Keep(pid)
				c.late()
			})
		}
	}
	for _, pid := range pids {
		c.process(pid)
	}
	return c
}

// meet looks at processes while they live, until ctx is done.
func (c *codeNames) meet(ctx context.Context, pids map[int]bool) {
	for pid := range pids {
		if ctx.Err() != nil {
			return
		}
		c.process(pid)
	}
}

// of returns what names the code of a process in which p fired with a stack.
func (c *codeNames) of(pid int, p *reader.Probe, pcs []uint64) event.Code {
	s := c.process(pid)
	if s == nil {
		s = c.ended(pid, p, pcs)
	}
	c.count(s)
	switch {
	case s.known.Images > 1 && len(pcs) > 0 && !s.space.Maps(pcs[0]):
		return c.before(pid, s, pcs[0])
	}
	return s
}

// process returns what names the code of a process; nil if it has ended and was not
// known before, or may not be read.
func (c *codeNames) process(pid int) *processCode {
	known := c.log.State(pid)
	p := c.known(pid)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s := p.code.Load()
	same := s != nil && s.known.Changes == known.Changes
	if same && s.known.Losses == known.Losses && now.Sub(s.checked) < checkInterval || s.busy(now) {
		return s
	}
	started, err := procfs.StartTime(pid)
	switch {
	case same && err != nil:
		s.checked, s.known.Losses = now, known.Losses
		if missing(err) {
			s.over.Store(true)
		}
		return s
	case same && s.started == started && s.known.Losses == known.Losses:
		s.checked = now
		s.expire(now)
		return s
	case err == nil && s != nil && s.started == started && (s.known.Images == known.Images || s.known.Images == 0 && c.log.Older(pid)):
		reads, before := s.readsAt(now), s.space.With(nil)
		if s.refresh(now) {
			if s.space.Keep(); lives(pid, started) {
				s.checked, s.reads, s.known.Changes, s.known.Losses = now, reads, known.Changes, known.Losses
				return s
			}
		}
		// It has ended meanwhile: what it had before may be in files that are gone now.
		s = c.newProcess(before)
		s.started = started
		p.code.Store(s)
	case err == nil:
		space, err := c.resolver.Process(pid)
		if err != nil {
			break // it ends
		}
		if space.Keep(); s != nil && !lives(pid, started) {
			break
		}
		reads := s.readsAt(now)
		s = c.newProcess(space)
		s.started, s.read, s.reads, s.known = started, now, reads, known
		p.code.Store(s)
		return s
	}
	return c.logged(pid, p, missing(err) || err == nil && gone(pid, started))
}

// count counts a process whose stack is named if it has ended.
func (c *codeNames) count(s *processCode) {
	if s.over.Load() && !s.counted.Swap(true) {
		c.endings.Add(1)
	}
}

// missing reports whether an error from under /proc says that there is no such process: that
// there are too many open files does not.
func missing(err error) bool { return errors.Is(err, os.ErrNotExist) }

// gone reports whether a process has ended, as far as can be told.
func gone(pid int, started uint64) bool {
	maps, err := procfs.Maps(pid)
	if err != nil || len(maps) == 0 {
		return err == nil || missing(err)
	}
	now, err := procfs.StartTime(pid)
	return missing(err) || err == nil && now != started
}

// lives reports whether a process has memory still.
func lives(pid int, started uint64) bool {
	maps, err := procfs.Maps(pid)
	if err != nil || len(maps) == 0 {
		return false
	}
	now, err := procfs.StartTime(pid)
	return err == nil && now == started
}

// refresh looks at the processes that are known again: they may have got new code.
func (c *codeNames) refresh(ctx context.Context) {
	if c == nil || c.refreshes.Swap(true) {
		return
	}
	c.await(ctx, func() {
		defer c.refreshes.Store(false)
		c.mu.Lock()
		all := make([]*knownProcess, 0, len(c.processes))
		for _, p := range c.processes {
			all = append(all, p)
		}
		c.mu.Unlock()
		for _, p := range all {
			if c.over() {
				return
			}
			if s := p.code.Load(); s != nil {
				s.refresh(time.Now())
			}
		}
	})
}

// version returns a number for names that are not those of before.
func (c *codeNames) version() uint64 { return c.versions.Add(1) }

// aside calls f in a goroutine. It opens files, which may take for ever where a file system does
// not answer, so close waits for it for a while only.
func (c *codeNames) aside(f func()) {
	c.asides.Go(func() {
		f()
		c.late()
	})
}

// await calls f aside, and waits for it until ctx is done, or for as long as close would: whoever
// holds a lock that Close needs must not wait for a file system that does not answer.
func (c *codeNames) await(ctx context.Context, f func()) {
	done := make(chan struct{})
	c.aside(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(maxAside):
	}
}

// over reports whether close was called.
func (c *codeNames) over() bool { return c != nil && c.closed.Load() }

// late closes what was opened after close.
func (c *codeNames) late() {
	if c.over() {
		c.resolver.Close()
	}
}

// maxAside is how long close, and await, wait for what was begun aside.
const maxAside = time.Second

// close closes all files. Nothing that asides need may be locked.
func (c *codeNames) close() error {
	if c == nil || c.closed.Swap(true) {
		return nil
	}
	c.log.Close()
	done := make(chan struct{})
	go func() {
		c.asides.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(maxAside):
	}
	return c.resolver.Close()
}

// processCode names the code of a process.
type processCode struct {
	code    *codeNames
	space   *symbols.Space
	started uint64       // as procfs.StartTime has it; 0 of a process that had ended
	checked time.Time    // when it was known to be this process; guarded by knownProcess.mu
	known   maplog.State // as the log had it
	over    atomic.Bool  // it had ended
	counted atomic.Bool  // in endings
	reads   reads        // of what it has mapped, of its PID

	lookBack sync.Once
	earlier  []*processCode // before it executed another file, once that is asked for

	mu      sync.Mutex
	read    time.Time     // what the process has mapped
	version atomic.Uint64 // of names, unlike that of any other process
}

func (c *codeNames) newProcess(space *symbols.Space) *processCode {
	s := &processCode{code: c, space: space, checked: time.Now()}
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
func (s *processCode) readsAt(now time.Time) reads {
	if s == nil || now.Sub(s.reads.since) >= checkInterval {
		return reads{now, 1}
	}
	return reads{s.reads.since, s.reads.n + 1}
}

// busy reports whether the process has been read too often; s may be nil.
func (s *processCode) busy(now time.Time) bool {
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
func (s *processCode) expire(now time.Time) {
	s.mu.Lock()
	old := now.Sub(s.read) > readInterval
	s.mu.Unlock()
	if old {
		s.refresh(now)
	}
}

// refresh reads what the process has mapped, and reports whether it lives.
func (s *processCode) refresh(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.space.Refresh() != nil {
		return false
	}
	s.read = now
	s.version.Store(s.code.version())
	return true
}

// current returns the version of the names.
func (s *processCode) current() uint64 { return s.version.Load() }

// Names implements event.Code.
func (s *processCode) Names(pc uint64, call bool) []symbols.Frame {
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

// Unwind implements event.Code.
func (s *processCode) Unwind(dst []uint64, registers *symbols.Registers, stack []byte) symbols.Calls {
	return s.space.Unwind(dst, registers, stack)
}
