package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/clock"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/rendezvous"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// local is the part of a tracing that gets events through shared memory. A nil local
// has none.
type local struct {
	*source.Rings
	options    *settings
	begins     *atomic.Uint64 // when the sites that are being watched record all, 0 before
	only       bool           // sites of processes that offer nothing are refused
	pairs      bool           // a latency, which tests conditions itself
	offers     *offers
	recordings *source.Recordings // nil if processes are traced
	refusals   map[int]error      // why there is no session with a process, during a look
	code       *naming.Code       // of processes that record stacks; nil if none does
	opened     chan struct{}      // closed when the first sites have been attached to
	loaded     func()             // is called when a process has published probes; nil if nobody asks
}

// newLocal returns nil if events come via the kernel only.
func (t *tracing) newLocal(o *settings) (*local, error) {
	if !o.Target.Via.isLocal() {
		return nil, nil
	}
	now, err := clock.Now()
	if err != nil {
		return nil, err
	}
	tests := t.layout == nil && !o.spanned
	l := &local{Rings: source.NewRings(tests, o.Sample, now, t.fail), options: o, only: !o.Target.Via.attaches()}
	l.Together = t.together()
	l.pairs, l.opened = o.spanned || t.layout != nil && t.layout.Pairs != nil, make(chan struct{})
	if o.Rescan > 0 {
		l.loaded = func() { t.Rescan(false) }
	}
	switch {
	case o.Target.Via == ViaRecording:
		if l.recordings, err = source.OpenRecordings(o.Target.Recordings, tests, o.Sample, t.fail); err != nil || o.Stack == 0 {
			break
		}
		l.recordings.KeepStacks()
		if t.layout == nil || !t.layout.Wanted.ByStack() { // of which sites say why they do not have any
			err = optionError("Stack", l.recordings.LackStacks())
		}
	case l.only && len(o.Target.PIDs) == 0:
		l.offers = newOffers(o)
	}
	return l, err
}

// fits returns an error if a selector names what does not come through shared memory.
func (l *local) fits(selectors []selector.Selector) error {
	if l == nil || !l.only {
		return nil
	}
	for _, s := range selectors {
		if s.Kind != selector.USDT && l.recordings == nil {
			return &SelectorError{s.String(), fmt.Errorf("%s names functions, which only the kernel traces", s.String())}
		}
	}
	return nil
}

// explain adds to an error that no probe matches, where only those of some programs are
// looked for.
func (l *local) explain(err error) error {
	if l == nil || !l.only || !errors.Is(err, discover.ErrNoMatch) {
		return err
	}
	return fmt.Errorf("%w; through shared memory come only the probes that Go services offer", err)
}

// with returns a source that also has the records of another one, which may be nil.
func (l *local) with(kernel source.Source) source.Source {
	switch {
	case l == nil:
		return kernel
	case l.recordings != nil:
		return l.recordings
	}
	return l.Rings.With(kernel)
}

// claim makes the sites of processes that offer their probes local ones. It refuses
// others if the kernel is not to attach to them.
//
// A process may publish its probes just before it offers them: unless again is nil,
// those of a process that offers none are left out, and again is called to find them
// once more.
func (l *local) claim(ctx context.Context, plan site.Plan, again func(pid int)) (site.Plan, error) {
	if l == nil {
		return plan, nil
	}
	if l.recordings != nil {
		l.recordings.Claim(plan)
		return plan, nil
	}
	l.refusals = map[int]error{}
	for i := range plan {
		s := &plan[i]
		offered := ofProvider(&s.Probe)
		if s.Reason != nil || !l.only && (s.Process() == 0 || !offered) {
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
		case l.only:
			s.Reason = err
		}
	}
	if again == nil || !l.only {
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

// dropWithdrawn leaves out sites of processes that have withdrawn their offer while they were
// to be watched. The search finds them again.
func (t *tracing) dropWithdrawn(more *site.Attachment) *site.Attachment {
	if t.local != nil {
		more.Drop(func(s *site.Site) bool {
			withdrawn := s.Local && (errors.Is(s.Reason, rendezvous.ErrNotOffered) || errors.Is(s.Reason, os.ErrProcessDone))
			if withdrawn {
				t.discover.Leave(s.Owner())
			}
			return withdrawn
		})
	}
	return more
}

// connect begins a session with a process unless there is one.
func (l *local) connect(ctx context.Context, pid int) error {
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

func (l *local) begin(ctx context.Context, pid int) error {
	if ok, err := l.options.Target.selects(pid); err != nil || !ok {
		return errors.Join(err, errNotSelected)
	}
	session, err := rendezvous.Connect(ctx, pid, &rendezvous.Options{Size: l.options.RingSize, Now: l.Now})
	switch {
	case errors.Is(err, os.ErrPermission):
		return &privilege.Error{Op: fmt.Sprintf("share memory with process %d", pid), Err: err}
	case errors.Is(err, rendezvous.ErrNotOffered):
		return &notOffered{pid}
	case err != nil:
		return fmt.Errorf("share memory with process %d: %w", pid, err)
	}
	if l.code != nil {
		l.code.Await(ctx, func() { l.code.Process(pid) }) // while it lives
	}
	s := &source.Process{Session: session, PID: pid}
	s.Sites.Store(&[]source.Site{})
	if err := l.Add(s); err != nil {
		return err
	}
	if l.loaded != nil {
		go l.awaitLoads(s)
	}
	return nil
}

// awaitLoads looks for sites whenever the process has published probes.
func (l *local) awaitLoads(s *source.Process) {
	select {
	case <-l.opened:
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
		l.loaded()
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

// notOffered says that a process does not offer its probes.
type notOffered struct{ pid int }

func (e *notOffered) Error() string {
	return fmt.Sprintf("process %d does not offer its probes through shared memory: it would have to run with USDT_LOCAL=1", e.pid)
}

func (e *notOffered) Unwrap() error { return rendezvous.ErrNotOffered }

var (
	errNotSelected = errors.New("the process has another name, runs another file or is in another control group")
	errKernelOnly  = errors.New("only the kernel traces it: through shared memory come the probes that Go services declare with package provider")
	errNotShared   = errors.New("its process does not offer it through shared memory, only probes that Go code declares with the same version of package provider")
)

// attachLocal attaches to sites of which none is the kernel's.
func (t *tracing) attachLocal(ctx context.Context, plan site.Plan, schemas []*bind.Schema, prepared func(*maps) error) error {
	if t.layout != nil && bound(schemas) {
		t.layout.Made = true
	}
	if err := prepared(nil); err != nil {
		return err
	}
	numbers, inKeys := t.give(plan, schemas)
	t.sites.Store(t.sites.Load().with(plan, schemas, numbers, inKeys))
	t.local.watch(ctx, plan, schemas, numbers)
	t.local.begun()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t.attached = site.Unattached(plan)
	if len(plan) > 0 && plan.Attached() == 0 && !(t.options.Await && plan.Gone()) {
		return plan.Refused()
	}
	if err := t.layout.Half(plan); err != nil && !t.options.Await {
		return err
	}
	return nil
}

// findOffered looks for sites in the processes that offer their probes.
func (t *tracing) findOffered(ctx context.Context) (discover.Sites, error) {
	f := t.local.offers
	t.discover = discover.New(t.selectors, f.procs)
	t.discover.Passing = true
	if _, err := f.scan(); err != nil {
		return nil, err
	}
	if len(f.procs.PIDs) == 0 {
		return nil, fmt.Errorf("%w: no process that this one may inspect offers probes through shared memory: one would have to run with USDT_LOCAL=1", discover.ErrNoMatch)
	}
	found, err := t.discover.First(ctx)
	return found, t.local.explain(err)
}

// scanOffers looks for processes that have begun to offer their probes, if the
// search is for any. It reports whether there are processes to be searched.
func (t *tracing) scanOffers() (any bool, err error) {
	switch {
	case t.local == nil:
		return true, nil
	case t.local.recordings != nil:
		return false, nil
	case t.local.offers == nil:
		return true, nil
	}
	f := t.local.offers
	ended, err := f.scan()
	for _, pid := range ended {
		t.discover.Forget(pid)
	}
	if len(f.procs.PIDs) == 0 {
		t.discover.Ended = nil
	}
	return len(f.procs.PIDs) > 0, err
}

// leaveEnded makes the search find anew the files whose sites belonged to sessions that are
// gone, except files of the process's present session. A process that has published probes is
// asked again for its sites: the files of sites that were not there before are found anew.
func (t *tracing) leaveEnded() (anew []discover.Owner) {
	if t.local == nil {
		return nil
	}
	for _, s := range t.local.Sessions() {
		switch gone := s.IsGone(); {
		case gone && !s.Left:
			s.Left = true
			anew = append(anew, t.local.others(s)...)
		case !gone && s.Reloaded.Swap(false):
			anew = append(anew, s.Rewatch()...)
		}
	}
	for _, o := range anew {
		t.discover.Leave(o)
	}
	return anew
}

// others returns the files whose sites are gone with a session, except files of the
// process's present session.
func (l *local) others(s *source.Process) []discover.Owner {
	present := l.Of(s.PID)
	return slices.DeleteFunc(slices.Clone(s.Owners), func(o discover.Owner) bool {
		return present != nil && slices.Contains(present.Owners, o)
	})
}

// leave makes processes record no more at the sites of files that they have closed. l may be
// nil.
func (l *local) leave(files []discover.Owner) {
	if l == nil || len(files) == 0 {
		return
	}
	for _, s := range l.Processes() {
		if !s.IsGone() {
			s.Leave(files) // of one that does not answer no event comes
		}
	}
}
