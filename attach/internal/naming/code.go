package naming

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/internal/decode"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
	"github.com/go-usdt/usdt/symbols"
)

// Code names the code of the processes in which probes fire.
type Code struct {
	resolver *symbols.Resolver
	shared   bool        // the resolver is the caller's, who closes it
	log      *maplog.Log // nil if the kernel reports no mappings

	mu        sync.Mutex // no file is read while it is locked
	processes map[int]*knownProcess
	names     nameCache
	kernel    kernelNames
	versions  atomic.Uint64
	asides    sync.WaitGroup
	closed    atomic.Bool
	refreshes atomic.Bool   // one is under way
	endings   atomic.Uint64 // processes that had ended when a stack of theirs was named
}

// Open returns what names code. It looks at once at processes that are known from the start,
// since they may end soon. If logged is set and the kernel reports mappings to this process, it
// also knows processes that have ended before anybody looked at them: the processes in pids, or in members and
// what they start, or all. resolver is the caller's, or nil for one that Close closes.
func Open(resolver *symbols.Resolver, pids []int, logged bool, members func() ([]int, error)) *Code {
	c := &Code{resolver: resolver, shared: resolver != nil, processes: map[int]*knownProcess{}}
	if !c.shared {
		c.resolver = symbols.NewResolver(nil)
	}
	if logged {
		if log, err := maplog.Open(pids, members); err == nil {
			c.log = log
			log.Follow(func(pid int) {
				c.resolver.Keep(pid)
				c.Late()
			})
		}
	}
	for _, pid := range pids {
		c.Process(pid)
	}
	return c
}

// Meet looks at processes while they live, until ctx is done.
func (c *Code) Meet(ctx context.Context, pids map[int]bool) {
	for pid := range pids {
		if ctx.Err() != nil {
			return
		}
		c.Process(pid)
	}
}

// Of returns what names the code of a process in which p fired with a stack. Addresses of the kernel
// at its beginning do not matter.
func (c *Code) Of(pid int, p *reader.Probe, pcs []uint64) decode.Code {
	for len(pcs) > 0 && pcs[0]>>63 != 0 {
		pcs = pcs[1:]
	}
	s := c.Process(pid)
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

// Process returns what names the code of a process; nil if it has ended and was not
// known before, or may not be read.
func (c *Code) Process(pid int) *Process {
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
func (c *Code) count(s *Process) {
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

// Refresh looks at the processes that are known again: they may have got new code.
func (c *Code) Refresh(ctx context.Context) {
	if c == nil || c.refreshes.Swap(true) {
		return
	}
	c.Await(ctx, func() {
		defer c.refreshes.Store(false)
		c.mu.Lock()
		all := make([]*knownProcess, 0, len(c.processes))
		for _, p := range c.processes {
			all = append(all, p)
		}
		c.mu.Unlock()
		for _, p := range all {
			if c.Closed() {
				return
			}
			if s := p.code.Load(); s != nil {
				s.refresh(time.Now())
			}
		}
	})
}

// version returns a number that changes with the names.
func (c *Code) version() uint64 { return c.versions.Add(1) }

// Aside calls f in a goroutine. It opens files, which may take for ever where a file system does
// not answer, so close waits for it for a while only.
func (c *Code) Aside(f func()) {
	c.asides.Go(func() {
		f()
		c.Late()
	})
}

// Await calls f aside, and waits for it until ctx is done, or for as long as close would: whoever
// holds a lock that Close needs must not wait for a file system that does not answer.
func (c *Code) Await(ctx context.Context, f func()) {
	done := make(chan struct{})
	c.Aside(func() {
		defer close(done)
		f()
	})
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(maxAside):
	}
}

// Closed reports whether close was called.
func (c *Code) Closed() bool { return c != nil && c.closed.Load() }

// Late closes what was opened after close.
func (c *Code) Late() {
	if c.Closed() && !c.shared {
		c.resolver.Close()
	}
}

// maxAside is how long close, and await, wait for what was begun aside.
const maxAside = time.Second

// Ended returns how many processes had ended when a stack of theirs was named.
func (c *Code) Ended() uint64 { return c.endings.Load() }

// Untold returns how much of what the kernel reports of processes was lost.
func (c *Code) Untold() uint64 { return c.log.Lost() }

// Refused returns what could not be read of files, each once.
func (c *Code) Refused() []error { return c.resolver.Refused() }

// Hold has whoever looks for a process wait, as for a file system that does not answer, until
// release is called. refreshes reports whether a Refresh is under way.
func (c *Code) Hold() (refreshes func() bool, release func()) {
	c.mu.Lock()
	return c.refreshes.Load, c.mu.Unlock
}

// Close closes all files. Nothing that asides need may be locked.
func (c *Code) Close() error {
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
	if c.shared {
		return nil
	}
	return c.resolver.Close()
}
