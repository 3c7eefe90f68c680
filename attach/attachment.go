package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// waiters bounds the links that are made or closed at a time: their waits for
// the kernel's grace periods overlap.
const waiters = 64

// closers bounds the perf events that are closed at a time. The kernel has a
// queue for them, in which others who attach wait as well.
const closers = 4

// Attachment is a program, or several, attached to probe sites.
type Attachment struct {
	plan Plan

	closing sync.Once // others wait for the first who closes

	mu       sync.Mutex // of what follows, and of plan
	known    int        // sites that the plan has, or had
	links    []link.Link
	detached bool
	err      error

	// halt has the programs do nothing from now on, so that links may be closed
	// later; nil if they cannot be told.
	halt func() error

	released  []func()      // called once after Close has detached
	pending   int           // perf events still to be closed
	completed chan struct{} // closed when pending is zero after Close
	late      []*Attachment // adopted after Close, and closed
}

// unattached returns an Attachment that is attached to nothing yet.
func unattached(plan Plan) *Attachment {
	for i := range plan {
		plan[i].order = i
	}
	return &Attachment{plan: plan, known: len(plan), completed: make(chan struct{})}
}

// newAttachment attaches groups. Its error concerns all sites: none of them
// has stayed attached. It is the cause of ctx if that is done before the end.
func newAttachment(ctx context.Context, plan Plan, groups []*group, kind link.Kind) (*Attachment, error) {
	a := unattached(plan)
	made := make([][]link.Link, len(groups))
	errs := make([]error, len(groups))
	attach := func(i int) { made[i], errs[i] = groups[i].attach(ctx, kind) }
	var missing *privilege.Error
	if len(groups) > 0 {
		attach(0) // what it lacks for want of a privilege, all lack
	}
	if len(groups) > 1 && errors.As(errs[0], &missing) {
		for i := range errs {
			errs[i] = errs[0]
		}
	} else if len(groups) > 1 {
		var eg errgroup.Group
		eg.SetLimit(waiters)
		for i := 1; i < len(groups); i++ {
			eg.Go(func() error {
				attach(i)
				return nil
			})
		}
		eg.Wait()
	}
	var first error
	for i, g := range groups {
		a.links = append(a.links, made[i]...)
		if errs[i] == nil {
			continue
		}
		for _, s := range g.sites { // those of a group that was not tried
			if !s.Attached && s.Reason == nil {
				s.Reason = errs[i]
			}
		}
		if first == nil {
			first = errs[i]
		}
	}
	interrupted := context.Cause(ctx)
	if plan.Attached() > 0 && interrupted == nil {
		return a, nil
	}
	a.Close()
	a.Wait(context.WithoutCancel(ctx)) // nobody else will
	if interrupted != nil {
		return nil, interrupted
	}
	if first == nil {
		first = plan.refused()
	}
	return nil, first
}

// refuse makes err the reason of the sites that have none.
func (p Plan) refuse(err error) {
	for i := range p {
		if !p[i].Attached && p[i].Reason == nil {
			p[i].Reason = err
		}
	}
}

// refused is the error for a plan of which nothing could be attached.
func (p Plan) refused() error {
	for i := range p {
		if s := &p[i]; s.Reason != nil {
			err := fmt.Errorf("%w: %s at %#x: %w", ErrNoSite, nameOf(&s.Probe), s.Offset, s.Reason)
			if len(p) > 1 {
				err = fmt.Errorf("%w (and %d others)", err, len(p)-1)
			}
			return err
		}
	}
	return ErrNoSite
}

// gone says that everything which the plan names has ended or been unloaded
// since it was made.
func (p Plan) gone() bool {
	for i := range p {
		if !errors.Is(p[i].Reason, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// Plan returns what was decided and done for every site until now. Sites of files
// that have no name any more and that no traced process has mapped are left out.
// It is a copy, which later calls and changes do not alter.
func (a *Attachment) Plan() Plan {
	plan, _ := a.PlanSince(0)
	return plan
}

// PlanSince returns what Plan does, without the first n sites that there have been,
// and the number of sites that there have been until now, which is the n of the
// next call.
func (a *Attachment) PlanSince(n int) (Plan, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, _ := slices.BinarySearchFunc(a.plan, n, func(s Site, n int) int { return s.order - n })
	return a.plan[first:].clone(), a.known
}

// adopt takes over what more is attached to. It detaches if a has done so; what
// has fired until then came from sites that the plan has.
func (a *Attachment) adopt(more *Attachment) error {
	a.mu.Lock()
	for i := range more.plan {
		more.plan[i].order = a.known
		a.known++
	}
	a.plan = append(a.plan, more.plan...)
	if !a.detached {
		defer a.mu.Unlock()
		a.links = append(a.links, more.links...)
		a.released = append(a.released, more.released...)
		return nil
	}
	a.late = append(a.late, more)
	a.mu.Unlock()
	more.halt = a.halt
	return more.Close()
}

// Close detaches from all sites. When it returns, the programs no longer run, and
// sites and semaphores are as they were before, with one exception: perf events are
// closed in the background, see [Attachment.Wait]. Some kernels, Linux 6.1 among
// them, take 0.1 s for each to detach a program of the caller's own. Later calls
// return the same error.
func (a *Attachment) Close() error {
	a.closing.Do(func() {
		for _, f := range a.detach() {
			f()
		}
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// whenReleased has f called once a has detached, at once if it has.
func (a *Attachment) whenReleased(f func()) {
	a.mu.Lock()
	detached := a.detached
	if !detached {
		a.released = append(a.released, f)
	}
	a.mu.Unlock()
	if detached {
		f()
	}
}

func (a *Attachment) detach() (released []func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.detached = true
	released, a.released = a.released, nil
	now, later := a.links, []link.Link(nil)
	a.links = nil
	if a.halt != nil && len(now) > 0 {
		// Some kernels close links one after the other, and wait for a grace
		// period at each. The first one's is for the programs that run already.
		if a.err = a.halt(); a.err == nil {
			now, later = now[:1], now[1:]
		}
	}
	var eg errgroup.Group
	eg.SetLimit(waiters)
	for _, l := range now {
		eg.Go(l.Stop)
	}
	if err := errors.Join(a.err, eg.Wait()); err != nil {
		a.err = fmt.Errorf("detach: %w", err)
	}
	for _, l := range now {
		if rest, ok := l.Rest(); ok {
			later = append(later, rest)
		}
	}
	a.pending = len(later)
	if a.pending == 0 {
		close(a.completed)
		return released
	}
	go a.closeEvents(later)
	return released
}

// closeEvents closes perf events and what links to them are left.
func (a *Attachment) closeEvents(left []link.Link) {
	var eg errgroup.Group
	eg.SetLimit(closers)
	for _, l := range left {
		eg.Go(func() error {
			l.Close()
			a.mu.Lock()
			a.pending--
			a.mu.Unlock()
			return nil
		})
	}
	eg.Wait()
	close(a.completed)
}

// Pending returns the number of perf events that the kernel has still to remove
// after Close. Until then their sites run no program, but are slow and have raised
// semaphores.
func (a *Attachment) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.pending
	for _, more := range a.late {
		n += more.Pending()
	}
	return n
}

// Wait waits after Close until nothing is pending, or until ctx is done. If this
// process exits earlier, the kernel holds it until it has removed them.
func (a *Attachment) Wait(ctx context.Context) error {
	select {
	case <-a.completed:
	case <-ctx.Done():
		return ctx.Err()
	}
	a.mu.Lock()
	late := a.late
	a.mu.Unlock()
	for _, more := range late {
		if err := more.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// programs returns those that have a link.
func (a *Attachment) programs() map[*ebpf.Program]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := map[*ebpf.Program]bool{}
	for _, l := range a.links {
		used[l.Prog] = true
	}
	return used
}

// group is a group of links with the sites that it is about.
type group struct {
	link.Group
	sites []*Site
}

// attach attaches the group and says at each site how that went. It returns
// what was attached even with an error, which concerns the whole group.
func (g *group) attach(ctx context.Context, kind link.Kind) ([]link.Link, error) {
	links, refused, err := g.Attach(ctx, kind)
	for i, s := range g.sites {
		s.Attached, s.Reason = refused[i] == nil, refused[i]
		if far := (*link.FarError)(nil); errors.As(s.Reason, &far) {
			s.Reason = fmt.Errorf("%w: %w", far, ErrSilent)
		}
	}
	return links, err
}

// grouper collects sites that can share a link.
type grouper struct {
	objects operand.Objects
	procs   *process.Set
	session bool // of the programs, see [link.Group]
	byKey   map[groupKey]*group
	all     []*group
}

type groupKey struct {
	path string
	file procfs.ID // one that waits for the path to be mapped stays when another leaves
	pid  int
	kind reader.ProbeKind
	prog *ebpf.Program
}

func (g *grouper) add(s *Site, prog *ebpf.Program, cookie uint64) {
	if g.byKey == nil {
		g.byKey = map[groupKey]*group{}
	}
	pid := s.PID
	if s.shared {
		pid = 0
	}
	key := groupKey{s.Path, s.file, pid, s.Probe.Kind, prog}
	gr := g.byKey[key]
	if gr == nil {
		gr = &group{Group: link.Group{
			Path: s.Path, Open: s.Path, File: s.file, PID: pid, Ended: func() bool { return g.procs.Ended(pid) },
			Returns: s.Probe.Kind == reader.Uretprobe, Session: g.session, Prog: prog,
		}}
		if obj := g.objects[s.Path]; obj != nil {
			gr.Open = obj.Path()
		}
		g.byKey[key] = gr
		g.all = append(g.all, gr)
	}
	gr.sites = append(gr.sites, s)
	gr.Sites = append(gr.Sites, link.Site{Offset: s.Offset, RefCtrOffset: s.Probe.SemaphoreOffset, Cookie: cookie, Opcode: s.opcode})
}
