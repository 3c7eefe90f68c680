package attach

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/decode"
)

// ErrClosed is wrapped by the errors of calls after Close: of [Aggregate.Read], and of
// the calls of package collection that attach.
var ErrClosed = errors.New("closed")

// Session is a set of probes whose events are recorded.
type Session struct {
	stream
	ring    decode.Decoder // of Decode; stream.reading is locked
	skipped atomic.Uint64  // of Snapshots
}

// stream is what a Session and Pairs have in common: a source of records that are read one
// after the other.
type stream struct {
	tracing

	clock     clock.Clock   // as it was when the session was opened; each reader has its own
	room      int           // in bytes, of the kernel's ring buffer; 0 without one
	paired    bool          // records are starts and ends, which are matched
	elsewhere bool          // records are read by the caller, see EventOptions.Ring
	stopped   atomic.Bool   // nothing records any more
	stopping  atomic.Uint64 // when Stop was called first, by the clock of records

	reading sync.Mutex // of what follows
	ended   bool       // the source has no more records

	asking sync.RWMutex // of what follows: not mu, which Stats need while the source is asked
	shut   bool         // the source is closed
}

// Open attaches to what selectors name:
//
//	[PATH:]PROVIDER:NAME       probes, with globs in each part
//	uprobe:PATH:FUNC           entries of functions, with globs
//	uretprobe:PATH:FUNC        returns from functions, with globs
//	uprobe:PATH:FUNC+OFFSET    an instruction of a function
//	uprobe:PATH:0x401136       the instruction at an address in the file
//	uprobe:PATH:FILE:LINE      a line of a source file; also FIRST-LAST, or *
//
// FUNC is compared with symbols and with demangled names, with and without the
// types of parameters. A PATH without '/' is also looked for in $PATH and by the
// dynamic linker's cache. A PATH that is a file, or several by wildcards, is
// attached to in all processes, also in processes that start later, unless
// [Target.PIDs] names some. A selector without such a PATH is looked for in the
// files that running processes have mapped.
//
// Each selector must match; a probe that several selectors name is traced once.
// opts may be nil.
//
// Events that fire before all sites are attached to are left out where the kernel's programs record
// them, as are events that fire once sites are being left: all sites begin and end at the same time.
// Sites that are found later begin when they are attached to.
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
	return OpenEvents(ctx, selectors, nil, opts)
}

// OpenEvents is Open for chosen events, or for a part of them. what and opts may be nil.
func OpenEvents(ctx context.Context, selectors []string, what *EventOptions, opts *Options) (*Session, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	o, err := opts.used(what)
	if err != nil {
		return nil, err
	}
	return openBy(o, func(s *Session, o *settings) error { return s.open(ctx, selectors, o) })
}

// usable returns why ctx cannot be used; nil if it can.
func usable(ctx context.Context) error {
	if ctx == nil {
		return errors.New("the context is nil: pass context.Background() for one without an end")
	}
	return context.Cause(ctx)
}

func (s *Session) open(ctx context.Context, selectors []string, o *settings) error {
	return s.begin(ctx, selectors, o, nil)
}

// begin attaches; layout is nil to record events.
func (s *stream) begin(ctx context.Context, selectors []string, o *settings, layout *bind.Layout) (err error) {
	s.paired, s.elsewhere = layout != nil, o.Ring != nil
	if o.Target.Via == ViaRecording {
		s.clock = clock.Fixed()
	} else if s.clock, err = clock.New(); err != nil {
		return err
	}
	if err := s.attach(ctx, selectors, o, layout); err != nil {
		return err
	}
	if s.programs != nil {
		s.room = int(s.programs.maps.Ring.MaxEntries())
	}
	s.watch(ctx, o, s.Stop)
	return nil
}

// Stop detaches from all sites. Events yields the events that have fired until
// then and ends.
func (s *stream) Stop() error {
	if now, err := clock.Now(); err == nil { // an error shows in Waiting
		s.stopping.CompareAndSwap(0, now())
	}
	err := s.attached.Close()
	err = cmp.Or(err, s.source.Stop())
	s.stopped.Store(true)
	return err
}

// records calls yield with one record after the other, and whether others are waiting,
// until yield returns false. Each record overwrites the one before. An error is passed in
// the last call.
func (s *stream) records(yield func(rec []byte, waiting bool, err error) bool) {
	var rec []byte
	handled := uint64(0) // records that s.handled does not count yet
	defer func() { s.handled.Add(handled) }()
	p := source.Pace{Room: s.room}
	for {
		var waiting bool
		var err error
		rec, waiting, err = s.next(rec)
		switch {
		case err == source.ErrEnd:
			return
		case err != nil:
			yield(nil, false, err)
			return
		}
		more := yield(rec, waiting, nil)
		handled++
		if !more {
			return
		}
		if p.Add(len(rec)); waiting {
			continue
		}
		s.handled.Add(handled)
		handled = 0
		if p.Pauses(time.Now()) {
			s.pause()
		}
	}
}

// pause lets events gather. It also waits for the first one, but not for long.
func (s *stream) pause() {
	nap := true
	for range source.Lull / source.Gather {
		if !s.lulled(nap) || s.stopped.Load() {
			return
		}
		nap = false
		time.Sleep(source.Gather)
	}
}

// lulled reports whether there are no records, but may be some later. With nap they need
// not wake up anybody until next is called.
func (s *stream) lulled(nap bool) bool {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.ended {
		return false
	}
	if nap {
		s.source.Nap()
		return true
	}
	return !s.source.Available()
}

// next returns the next record, and whether others are waiting; see source.
func (s *stream) next(buf []byte) (rec []byte, waiting bool, err error) {
	s.reading.Lock()
	if s.ended {
		s.reading.Unlock()
		return nil, false, source.ErrEnd
	}
	rec, waiting, err = s.source.Next(buf)
	switch err {
	case nil:
		s.losses.Heard()
		s.take()
	case source.ErrEnd:
		s.ended = true
		err = cmp.Or(s.failure.get(), source.ErrEnd)
	}
	s.reading.Unlock()
	return rec, waiting, err
}

// take counts a record that was taken from the source. Records that are matched are
// counted later, by what becomes of them.
func (s *stream) take() {
	if s.paired {
		s.added.Add(1)
		return
	}
	s.received.Add(1)
}

// Close detaches and frees everything. Events that have fired and were not
// received count as unread. Calling it again, or while Events runs in another
// goroutine, is safe.
func (s *stream) Close() error {
	s.cancel() // also of a rescan
	err := s.Stop()
	s.endSearch()
	err = s.finish(err)
	s.code.Close()
	return err
}

// finish is Close with the source locked. err is the error until now.
func (s *stream) finish(err error) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return err
	}
	switch {
	case s.paired:
		s.dropPairs()
	case s.elsewhere:
		if st, err := s.countLocked(); err == nil {
			s.unread.Add(st.rest())
		}
	default:
		s.unread.Add(s.source.Drain())
	}
	s.ended = true
	err = errors.Join(err, s.finishLocked())
	if s.programs != nil {
		err = errors.Join(err, s.programs.letGo())
	}
	s.release()
	return err
}

func (s *stream) release() {
	s.asking.Lock()
	s.shut = true
	if s.source != nil {
		s.source.Close()
	}
	s.asking.Unlock()
	s.tracing.release()
}

// Idle reports whether no event is waiting: the next one has yet to fire. A
// program that buffers its output flushes it then.
func (s *stream) Idle() bool {
	s.asking.RLock()
	defer s.asking.RUnlock()
	return s.shut || !s.source.Available()
}
