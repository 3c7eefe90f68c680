package attach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sync/errgroup"
)

// Session is a set of probes being traced.
type Session struct {
	*Attachment

	maps    *maps
	progs   []*ebpf.Program
	schemas []*schema // by site
	ring    *ringbuf.Reader
	cancel  context.CancelFunc
	watches sync.WaitGroup

	received, dropped atomic.Uint64

	reading sync.Mutex // of what follows
	decoder decoder
	record  ringbuf.Record
	ended   bool // the ring has been read to its end after detaching

	mu      sync.Mutex // of what follows, and of the life of maps and progs
	closed  bool
	final   Stats
	stopErr error
}

// Stats are the numbers of events of a session. While it is attached they are
// a snapshot; afterwards Fired = Received + Lost + Filtered + Missed holds
// exactly as soon as Events has ended or Close was called.
type Stats struct {
	Fired    uint64 // by all attached sites
	Received uint64 // delivered by Events
	Lost     uint64 // dropped since the ring buffer was full
	Filtered uint64 // not wanted; among them those that Events was not asked for any more
	Missed   uint64 // suppressed by the kernel to prevent recursion
}

// Open attaches to the probes that a selector names: [PATH:]PROVIDER:NAME, with
// globs in each part. opts may be nil. Without [Options.PIDs] a PATH that is a
// file is attached to in all processes, those that start later included;
// otherwise the files that running processes have mapped are searched.
//
// The error wraps [ErrNoMatch] if there is no such probe, [ErrNoSite] if no
// site could be attached to; it is a [*PrivilegeError] if this process may not.
// If only some sites could be attached to, that is no error: see Plan.
func Open(selector string, opts *Options) (*Session, error) {
	return OpenAll([]string{selector}, opts)
}

// OpenAll is Open for several selectors. Each must match; a probe that several
// of them name is traced once.
func OpenAll(selectors []string, opts *Options) (*Session, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := context.Cause(o.Context); err != nil {
		return nil, err
	}
	plan, err := discover(selectors, o.PIDs)
	if err != nil {
		return nil, err
	}
	return open(plan, &o)
}

func open(plan Plan, o *Options) (_ *Session, err error) {
	s := &Session{}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	planner := newPlanner(o.Force)
	defer planner.objects.Close()
	for i := range plan {
		planner.plan(&plan[i])
	}
	kind, err := chooseLink(o.Link, len(o.PIDs) > 0)
	if err != nil {
		return nil, err
	}
	if err := s.bind(plan, &binder{maxString: uint32(o.MaxString), strings: o.Strings, where: o.condition, objects: planner.objects}); err != nil {
		return nil, err
	}
	groups, err := s.load(plan, kind, o)
	if err != nil {
		return nil, err
	}
	if s.ring, err = ringbuf.NewReader(s.maps.ring); err != nil {
		return nil, fmt.Errorf("read ring buffer: %w", err)
	}
	if s.Attachment, err = newAttachment(plan, groups, kind); err != nil {
		return nil, err
	}
	s.decoder = newDecoder(plan, s.schemas)
	s.watch(o)
	return s, nil
}

// bind decides what is read at every site that is not refused.
func (s *Session) bind(plan Plan, b *binder) error {
	s.schemas = make([]*schema, len(plan))
	shared := map[string]*signature{}
	for i := range plan {
		if plan[i].Reason != nil {
			continue
		}
		sc, err := b.bind(&plan[i])
		if err != nil {
			return err
		}
		if s.schemas[i] = sc; sc.shared {
			continue
		}
		key := sc.sig.key()
		if same := shared[key]; same != nil {
			sc.sig = same
		} else {
			shared[key] = sc.sig
		}
	}
	return nil
}

// load creates maps and programs, and groups the sites by link.
func (s *Session) load(plan Plan, kind LinkKind, o *Options) ([]*group, error) {
	typ := ebpf.AttachNone
	if kind == MultiLink {
		typ = ebpf.AttachTraceUprobeMulti
	}
	var signatures []*signature
	scratch := 0
	seen := map[*signature]bool{}
	for _, sc := range s.schemas {
		if sc == nil || seen[sc.sig] {
			continue
		}
		seen[sc.sig] = true
		signatures = append(signatures, sc.sig)
		if sc.sig.needsScratch() {
			scratch = max(scratch, sc.sig.scratchSize(sc.sig.stringLimit()))
		}
	}
	var err error
	if s.maps, err = newMaps(o.RingSize, scratch); err != nil {
		return nil, privileges("prepare tracing", err)
	}
	specs, forms := programSpecs(signatures, s.maps, typ, canSleep())
	for _, spec := range specs {
		prog, err := ebpf.NewProgram(spec)
		if err != nil {
			return nil, privileges("load the programs that read arguments", err)
		}
		s.progs = append(s.progs, prog)
	}
	var groups grouper
	for i := range plan {
		if sc := s.schemas[i]; sc != nil {
			f := forms[sc.sig]
			groups.add(&plan[i], s.progs[f.program], f.cookie(i))
		}
	}
	return groups.all, nil
}

// watch ends the session when the context is done or all processes have ended.
func (s *Session) watch(o *Options) {
	ctx, cancel := context.WithCancel(o.Context)
	s.cancel = cancel
	if len(o.PIDs) > 0 {
		var eg errgroup.Group
		for _, pid := range o.PIDs {
			eg.Go(func() error { return waitExit(ctx, pid) })
		}
		s.watches.Go(func() {
			eg.Wait()
			cancel()
		})
	}
	s.watches.Go(func() {
		<-ctx.Done()
		if err := s.Stop(); err != nil {
			s.mu.Lock()
			s.stopErr = err
			s.mu.Unlock()
		}
	})
}

// Stop detaches from all sites. Events goes on with what has fired until then
// and ends after it.
func (s *Session) Stop() error {
	err := s.Attachment.Close()
	if flushErr := s.ring.Flush(); flushErr != nil && !errors.Is(flushErr, os.ErrClosed) && err == nil {
		err = fmt.Errorf("wake up the reader of events: %w", flushErr)
	}
	return err
}

// Events yields the events as they arrive, in the order in which each CPU
// fired them. It ends after Stop, after Close, when Options.Context is done and
// when all of Options.PIDs have ended. An error beside an event does not end
// it; one without an event does. Breaking off leaves the events that follow to
// a later call.
func (s *Session) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		burst := 0
		for {
			ev, more, err := s.next()
			switch {
			case err == errEnd:
				return
			case err != nil:
				yield(Event{}, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
			if burst++; more {
				continue
			}
			if burst >= busy {
				// The kernel wakes a reader for each event that finds the buffer
				// empty. Let a fast stream fill it a little.
				time.Sleep(batchDelay)
			}
			burst = 0
		}
	}
}

const (
	busy       = 64                     // events in a row make a stream fast
	batchDelay = 500 * time.Microsecond // during which a fast stream gathers
)

var errEnd = errors.New("end of events")

// next returns the next event, and whether there were more when it was read.
func (s *Session) next() (ev Event, more bool, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.ended {
		return ev, false, errEnd
	}
	switch err := s.ring.ReadInto(&s.record); {
	case errors.Is(err, ringbuf.ErrFlushed):
		s.ended = true
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.stopErr != nil {
			return ev, false, s.stopErr
		}
		return ev, false, errEnd
	case err != nil:
		return ev, false, fmt.Errorf("read event: %w", err)
	}
	s.received.Add(1)
	ev, err = s.decoder.decode(s.record.RawSample)
	return ev, s.record.Remaining > 0, err
}

// Stats returns the numbers of events until now.
func (s *Session) Stats() (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.countLocked()
}

func (s *Session) countLocked() (Stats, error) {
	if s.closed {
		return s.final, nil
	}
	// What was received has fired before: in this order the sum never
	// shows more received than fired.
	st := Stats{Received: s.received.Load()}
	fired, lost, filtered, err := s.maps.count()
	if err != nil {
		return st, err
	}
	for _, p := range s.progs {
		ps, err := p.Stats()
		if err != nil {
			return st, fmt.Errorf("ask for missed events: %w", err)
		}
		st.Missed += ps.RecursionMisses
	}
	st.Fired, st.Lost, st.Filtered = fired+st.Missed, lost, filtered+s.dropped.Load()
	return st, nil
}

// Close detaches and frees everything. Events that have fired and were not
// received count as filtered. Calling it again, or while Events runs in another
// goroutine, is safe.
func (s *Session) Close() error {
	err := s.Stop()
	s.cancel()
	s.watches.Wait()
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return err
	}
	s.drop()
	st, countErr := s.countLocked()
	s.final, s.closed, s.ended = st, true, true
	s.release()
	return errors.Join(err, countErr)
}

// drop reads what is left in the ring.
func (s *Session) drop() {
	s.ring.SetDeadline(time.Unix(1, 0))
	for {
		err := s.ring.ReadInto(&s.record)
		switch {
		case err == nil:
			s.dropped.Add(1)
		case !errors.Is(err, ringbuf.ErrFlushed):
			return
		}
	}
}

func (s *Session) release() {
	if s.ring != nil {
		s.ring.Close()
	}
	for _, p := range s.progs {
		p.Close()
	}
	if s.maps != nil {
		s.maps.Close()
	}
}

// Idle says that no event is waiting: the next one has still to fire. Programs
// that buffer their output flush it then.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.ring.AvailableBytes() == 0
}
