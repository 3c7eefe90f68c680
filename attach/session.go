package attach

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is wrapped by the errors of calls after Close: of [Aggregate.Read], and of
// the calls of package collection that attach.
var ErrClosed = errors.New("closed")

// Session is a set of probes whose events are recorded.
type Session struct {
	tracing

	clock clock // as it was when the session was opened; each reader has its own

	reading sync.Mutex // of what follows
	ended   bool       // the source has no more records
}

// Open attaches to what selectors name:
//
//	[PATH:]PROVIDER:NAME       probes, with globs in each part
//	uprobe:PATH:FUNC           entries of functions, with globs
//	uretprobe:PATH:FUNC        returns from functions, with globs
//	uprobe:PATH:FUNC+OFFSET    an instruction of a function
//	uprobe:PATH:0x401136       the instruction at an address in the file
//
// FUNC is compared with symbols and with demangled names, with and without the
// types of parameters. A PATH without '/' is also looked for in $PATH and by the
// dynamic linker's cache. Without [Target.PIDs], a PATH that is a file, or several
// by wildcards, is attached to in all processes, those that start later included.
// A selector without such a PATH is looked for in the files that running processes
// have mapped.
//
// Each selector must match; a probe that several selectors name is traced once.
// opts may be nil.
//
// When ctx is done, Open returns its cause; afterwards Events ends, after the
// events that have fired until then. A nil ctx is an error.
//
// The error wraps [ErrNoMatch] if there is no such probe, [ErrNoSite] if no
// site could be attached to; it is a [*PrivilegeError] if this process may not, a
// [*SelectorError] if a selector cannot be understood and an [*OptionError] if an
// option cannot be used. If only some sites could be attached to, Open succeeds,
// and Plan lists the others.
func Open(ctx context.Context, selectors []string, opts *Options) (*Session, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	o, err := opts.used()
	if err != nil {
		return nil, err
	}
	s := &Session{}
	if err := s.open(ctx, selectors, o); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// usable returns why ctx cannot be used; nil if it can.
func usable(ctx context.Context) error {
	if ctx == nil {
		return errors.New("the context is nil: pass context.Background() for one without an end")
	}
	return context.Cause(ctx)
}

func (s *Session) open(ctx context.Context, selectors []string, o *settings) (err error) {
	if s.clock, err = newClock(); err != nil {
		return err
	}
	err = s.attach(ctx, selectors, o, nil, func(m *maps) (err error) {
		s.source, err = newRing(m, s.countPrograms)
		return err
	})
	if err != nil {
		return err
	}
	s.watch(ctx, o, s.Stop)
	return nil
}

// Stop detaches from all sites. Events yields the events that have fired until
// then and ends.
func (s *Session) Stop() error {
	err := s.attached.Close()
	return cmp.Or(err, s.source.stop())
}

// records calls yield with one record after the other, until yield returns false.
// Each record overwrites the one before. An error is passed in the last call.
func (s *Session) records(yield func([]byte, error) bool) {
	var rec []byte
	for burst := 0; ; {
		var waiting bool
		var err error
		rec, waiting, err = s.next(rec)
		switch {
		case err == errEnd:
			return
		case err != nil:
			yield(nil, err)
			return
		}
		more := yield(rec, nil)
		s.handled.Add(1)
		if !more {
			return
		}
		if burst++; waiting {
			continue
		}
		if burst >= busy {
			// The kernel wakes a reader for each event that finds the buffer
			// empty. Let a fast stream fill the buffer a little.
			time.Sleep(batchDelay)
		}
		burst = 0
	}
}

const (
	busy       = 64                     // events in a row make a stream fast
	batchDelay = 500 * time.Microsecond // during which a fast stream gathers
)

// next returns the next record, and whether others are waiting; see source.
func (s *Session) next(buf []byte) (rec []byte, waiting bool, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.ended {
		return nil, false, errEnd
	}
	rec, waiting, err = s.source.next(buf)
	switch err {
	case nil:
		s.received.Add(1)
	case errEnd:
		s.ended = true
		s.mu.Lock()
		defer s.mu.Unlock()
		err = cmp.Or(s.stopErr, errEnd)
	}
	return rec, waiting, err
}

// Close detaches and frees everything. Events that have fired and were not
// received count as unread. Calling it again, or while Events runs in another
// goroutine, is safe.
func (s *Session) Close() error {
	s.cancel() // of a rescan, too
	err := s.Stop()
	s.endSearch()
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return err
	}
	s.unread.Add(s.source.drain())
	s.ended = true
	err = errors.Join(err, s.finishLocked())
	s.release()
	return err
}

func (s *Session) release() {
	if s.source != nil {
		s.source.close()
	}
	s.tracing.release()
}

// Idle reports whether no event is waiting: the next one has yet to fire. A
// program that buffers its output flushes it then.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || !s.source.available()
}
