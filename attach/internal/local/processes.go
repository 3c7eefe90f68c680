package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// Options say which processes are asked, and for what.
type Options struct {
	// Only refuses sites of processes that offer nothing: nobody else attaches to them.
	Only bool
	// Any looks for all processes that offer their probes to this one.
	Any bool
	// Pairs are matched by who reads records, and tests their conditions.
	Pairs bool
	// Together leaves out records from before all sites record.
	Together bool
	// Tests has conditions tested here that the process has not tested.
	Tests  bool
	Sample int // one in so many events that pass is delivered; 0 for all
	Size   int // of the shared memory, in bytes
	// Selects reports whether a process is one to be traced.
	Selects func(pid int) (bool, error)
	// Fail is told why a process cannot be read any more.
	Fail func(error)
	// Meet is called for each process that has begun to share memory.
	Meet func(ctx context.Context, pid int)
	// Loaded is called when a process has published probes, after Opened was closed; nil if nobody
	// asks.
	Loaded func()
	// Opened is closed when the first sites have been attached to.
	Opened <-chan struct{}
}

// Processes are the processes that share memory with this one.
type Processes struct {
	*source.Rings
	options  *Options
	begins   *atomic.Uint64 // when the sites that are being watched record all, 0 before
	offers   *offers        // nil if not all processes are looked for
	refusals map[int]error  // why there is no session with a process, during a look
}

// New returns none yet.
func New(o *Options) (*Processes, error) {
	now, err := clock.Now()
	if err != nil {
		return nil, err
	}
	l := &Processes{Rings: source.NewRings(o.Tests, o.Sample, now, o.Fail), options: o}
	if l.Together = o.Together; o.Any {
		l.offers = newOffers(o.Selects)
	}
	return l, nil
}

// Fits returns an error if a selector names what does not come through shared memory.
func (l *Processes) Fits(s *selector.Selector) error {
	if l.options.Only && s.Kind != reader.USDT {
		return fmt.Errorf("%s names functions, which only the kernel traces", s.String())
	}
	return nil
}

// explain adds to an error that no probe matches, where only the probes of some programs are
// looked for.
func (l *Processes) explain(err error) error {
	if !l.options.Only || !errors.Is(err, discover.ErrNoMatch) {
		return err
	}
	return fmt.Errorf("%w; through shared memory come only the probes that Go services offer", err)
}

// Claim makes the sites of processes that offer their probes local ones. It refuses
// others if the kernel is not to attach to them.
//
// A process may publish its probes just before it offers them: unless again is nil,
// the probes of a process that offers none are left out, and again is called to find them
// once more.
func (l *Processes) Claim(ctx context.Context, plan site.Plan, again func(pid int)) (site.Plan, error) {
	l.refusals = map[int]error{}
	for i := range plan {
		s := &plan[i]
		offered := ofProvider(&s.Probe)
		if s.Reason != nil || !l.options.Only && (s.Process() == 0 || !offered) {
			continue
		}
		s.Path, s.Offset = s.Probe.Attachable(), s.Probe.Offset
		if !offered {
			s.Reason = errKernelOnly
			continue
		}
		err := l.connect(ctx, s.Process())
		switch {
		case context.Cause(ctx) != nil:
			return plan, context.Cause(ctx)
		case err == nil:
			s.Local = true
		case l.options.Only:
			s.Reason = err
		}
	}
	if again == nil || !l.options.Only {
		return plan, nil
	}
	return slices.DeleteFunc(plan, func(s site.Site) bool {
		if !errors.Is(s.Reason, rendezvous.ErrNotOffered) {
			return false
		}
		again(s.PID)
		return true
	}), nil
}

// ofProvider reports whether Go code may have declared the probe: only that offers it.
func ofProvider(p *reader.Probe) bool {
	return p.Type != nil && p.Type.Record.Flags&notes.GoroutineRegister != 0
}

// Withdrawn reports whether a site's process has withdrawn its offer while the site was to be
// watched.
func Withdrawn(s *site.Site) bool {
	return s.Local && (errors.Is(s.Reason, rendezvous.ErrNotOffered) || errors.Is(s.Reason, os.ErrProcessDone))
}

// connect begins a session with a process unless there is one.
func (l *Processes) connect(ctx context.Context, pid int) error {
	if err, known := l.refusals[pid]; known {
		return err
	}
	var err error
	if l.Of(pid) == nil {
		err = l.begin(ctx, pid)
	}
	l.refusals[pid] = err
	return err
}

func (l *Processes) begin(ctx context.Context, pid int) error {
	if ok, err := l.options.Selects(pid); err != nil || !ok {
		return errors.Join(err, errNotSelected)
	}
	session, err := rendezvous.Connect(ctx, pid, &rendezvous.Options{Size: l.options.Size, Now: l.Now})
	switch {
	case errors.Is(err, os.ErrPermission):
		return &privilege.Error{Op: fmt.Sprintf("share memory with process %d", pid), Err: err}
	case errors.Is(err, rendezvous.ErrNotOffered):
		return &NotOffered{pid}
	case err != nil:
		return fmt.Errorf("share memory with process %d: %w", pid, err)
	}
	l.options.Meet(ctx, pid)
	s := &source.Process{Session: session, PID: pid}
	s.Sites.Store(&[]source.Site{})
	if err := l.Add(s); err != nil {
		return err
	}
	if l.options.Loaded != nil {
		go l.awaitLoads(s)
	}
	return nil
}

// awaitLoads looks for sites whenever the process has published probes.
func (l *Processes) awaitLoads(s *source.Process) {
	select {
	case <-l.options.Opened:
	case <-l.Ending:
	}
	for {
		select {
		case <-s.Loaded:
		case <-s.Gone:
			return
		case <-l.Ending:
			return
		}
		began := time.Now()
		s.Reloaded.Store(true)
		l.options.Loaded()
		// A process may say so all the time. It gets a tenth of this one's.
		select {
		case <-time.After(9 * time.Since(began)):
		case <-s.Gone:
			return
		case <-l.Ending:
			return
		}
	}
}

// NotOffered says that a process does not offer its probes.
type NotOffered struct{ pid int }

func (e *NotOffered) Error() string {
	return fmt.Sprintf("process %d does not offer its probes through shared memory: a Go service that declares its probes by package provider would have to run with USDT_LOCAL=1", e.pid)
}

func (e *NotOffered) Unwrap() error { return rendezvous.ErrNotOffered }

var (
	errNotSelected = errors.New("the process has another name, runs another file or is in another control group")
	errKernelOnly  = errors.New("only the kernel traces it: through shared memory come the probes that Go services declare with package provider")
	errNotShared   = errors.New("its process does not offer it through shared memory, only probes that Go code declares with the same version of package provider")
)

// others returns the files whose sites are gone with a session, except files of the
// process's present session.
func (l *Processes) others(s *source.Process) []discover.Owner {
	present := l.Of(s.PID)
	return slices.DeleteFunc(slices.Clone(s.Owners), func(o discover.Owner) bool {
		return present != nil && slices.Contains(present.Owners, o)
	})
}

// Leave makes processes record no more at the sites of files that they have closed. l may be
// nil.
func (l *Processes) Leave(files []discover.Owner) {
	if len(files) == 0 {
		return
	}
	for _, s := range l.Processes() {
		if !s.IsGone() {
			s.Leave(files) // of one that does not answer no event comes
		}
	}
}

// Search looks for sites for the first time: in the processes that offer their probes, if it is
// asked for any, else by the usual search.
func (l *Processes) Search(ctx context.Context, selectors []selector.Selector, usual func() (*discover.Search, discover.Sites, error)) (*discover.Search, discover.Sites, error) {
	f := l.offers
	if f == nil {
		search, found, err := usual()
		return search, found, l.explain(err)
	}
	search := discover.New(selectors, f.procs)
	search.Passing, search.Among = true, "in the processes that offer probes through shared memory"
	if _, err := f.scan(); err != nil {
		return search, nil, err
	}
	if len(f.procs.PIDs) == 0 {
		return search, nil, fmt.Errorf("%w: no process that this one may inspect offers probes through shared memory: a Go service that declares its probes by package provider would have to run with USDT_LOCAL=1", discover.ErrNoMatch)
	}
	found, err := search.First(ctx)
	return search, found, l.explain(err)
}

// Scan prepares a later search, and reports whether there may be anything to find: it looks for
// processes that have begun to offer their probes, if it is asked for any. The search finds anew the
// files whose sites belonged to sessions that are gone, except files of the process's present
// session. A process that has published probes is asked again for its sites: the files of sites
// that were not there before are also found anew. Scan returns these files.
func (l *Processes) Scan(search *discover.Search) (anew []discover.Owner, any bool, err error) {
	for _, s := range l.Sessions() {
		switch gone := s.IsGone(); {
		case gone && !s.Left:
			s.Left = true
			anew = append(anew, l.others(s)...)
		case !gone && s.Reloaded.Swap(false):
			anew = append(anew, s.Rewatch()...)
		}
	}
	for _, o := range anew {
		search.Leave(o)
	}
	f := l.offers
	if f == nil {
		return anew, true, nil
	}
	ended, err := f.scan()
	for _, pid := range ended {
		search.Forget(pid)
	}
	if len(f.procs.PIDs) == 0 {
		search.Ended = nil
	}
	return anew, len(f.procs.PIDs) > 0, err
}
