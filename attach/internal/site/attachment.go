package site

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/cilium/ebpf"
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/internal/privilege"
)

// waiters bounds the links that are made or closed at a time: their waits for
// the kernel's grace periods overlap.
const waiters = 64

// closers bounds the perf events that are closed at a time. The kernel has one
// queue for them, in which other attachers wait as well.
const closers = 4

// Attachment is one or more programs attached to probe sites.
type Attachment struct {
	plan Plan

	closing sync.Once // later calls of Close wait for the first

	mu          sync.Mutex    // of what follows, and of plan
	known       int           // sites that the plan has, or had
	changed     chan struct{} // closed when the plan changes, or a detaches; nil if nobody waits
	links       []link.Link
	leaving     map[discover.Owner]chan struct{} // closed when the links are; see Leave
	counts      counts                           // kept until the links are gone
	detached    bool
	missed      uint64       // of links that have been closed, see Missed
	translating map[int]bool // processes that translated code when last looked at, see Stranded
	err         error
	pins        pins

	// Halt makes the programs do nothing from now on, all at the same time; nil if that is
	// not possible. Slow says that links may then be closed later.
	Halt func() error
	Slow bool

	released  []func()      // called once after Close has detached
	pending   int           // perf events still to be closed
	unclosed  error         // of perf events that could not be closed
	completed chan struct{} // closed when pending is zero after Close
	adopted   []*Attachment // adopted after Close, and closed
}

// Unattached returns an Attachment that is attached to nothing yet.
func Unattached(plan Plan) *Attachment {
	for i := range plan {
		plan[i].order = i
	}
	return &Attachment{plan: plan, known: len(plan), completed: make(chan struct{})}
}

// Attach attaches groups. Its error concerns all sites: none stays attached. It
// is the cause of ctx if ctx is done before the end.
func Attach(ctx context.Context, plan Plan, groups []*Group, kind link.Kind) (*Attachment, error) {
	a := Unattached(plan)
	var look func()
	a.counts, look = count(ctx, groups, kind)
	groups = remaining(groups)
	made := make([][]link.Link, len(groups))
	errs := make([]error, len(groups))
	attach := func(i int) { made[i], errs[i] = groups[i].attachSites(ctx, kind) }
	var missing *privilege.Error
	if len(groups) > 0 {
		attach(0) // if the first lacks a privilege, all do
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
		for _, s := range g.sites { // the sites of a group that was not tried
			if !s.Attached && s.Reason == nil {
				s.Reason = errs[i]
			}
			if s.end != nil {
				s.end.Reason = s.Reason
			}
		}
		if first == nil {
			first = errs[i]
		}
	}
	look()
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
		first = plan.Refused()
	}
	return nil, first
}

// LookAt calls look with what was decided and done for every site until now, except
// for the first n sites ever found, and for sites of files that have no name any more
// and that no traced process has mapped. The plan may change after look has returned.
// LookAt returns the number of sites found until now, to be passed to the next call.
func (a *Attachment) LookAt(n int, look func(Plan)) (known int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := sort.Search(len(a.plan), func(i int) bool { return a.plan[i].order >= n })
	look(a.plan[first:])
	return a.known
}

// Drop leaves sites out of a plan that nobody has seen yet.
func (a *Attachment) Drop(which func(*Site) bool) {
	kept := a.plan[:0:0]
	for i := range a.plan {
		if !which(&a.plan[i]) {
			kept = append(kept, a.plan[i])
		}
	}
	a.plan = kept
}

// Adopt takes over the links and sites of more. It closes more if a has detached;
// events until then came from sites that the plan has.
func (a *Attachment) Adopt(more *Attachment) error {
	a.mu.Lock()
	for i := range more.plan {
		more.plan[i].order = a.known
		a.known++
	}
	a.plan = append(a.plan, more.plan...)
	a.hasChanged()
	if !a.detached {
		defer a.mu.Unlock()
		var err error
		if a.pins.dir != "" {
			err = a.pin(more.links)
		}
		a.links = append(a.links, more.links...)
		a.counts.adopt(more.counts)
		a.released = append(a.released, more.released...)
		return err
	}
	a.adopted = append(a.adopted, more)
	a.mu.Unlock()
	more.Halt, more.Slow = a.Halt, a.Slow
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

// WhenReleased calls f once a has detached, or at once if it already has.
func (a *Attachment) WhenReleased(f func()) {
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
	a.hasChanged()
	for _, done := range a.leaving {
		a.mu.Unlock()
		<-done
		a.mu.Lock()
	}
	released, a.released = a.released, nil
	a.counts.settle()
	for _, l := range a.links {
		a.missed += l.Missed()
	}
	now, later := a.links, []link.Link(nil)
	a.links = nil
	if a.Halt != nil && len(now) > 0 {
		// Some kernels close links one after the other, with a grace period for
		// each. The first grace period is for the programs that run already.
		if a.err = a.Halt(); a.err == nil && a.Slow {
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
		if err := a.counts.close(); err != nil {
			a.err = errors.Join(a.err, fmt.Errorf("detach: %w", err))
		}
		close(a.completed)
		return released
	}
	go a.closeEvents(later)
	return released
}

// closeEvents closes perf events, and the links on them that are left.
func (a *Attachment) closeEvents(left []link.Link) {
	var eg errgroup.Group
	eg.SetLimit(closers)
	for _, l := range left {
		eg.Go(func() error {
			err := l.Close()
			a.mu.Lock()
			defer a.mu.Unlock()
			a.pending--
			a.unclosed = errors.Join(a.unclosed, err)
			return nil
		})
	}
	eg.Wait()
	a.counts.close()
	close(a.completed)
}

// Pending returns the number of perf events that the kernel has yet to remove
// after Close. Until it does, their sites run no program, but are slow and have
// raised semaphores.
func (a *Attachment) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.pending
	for _, more := range a.adopted {
		n += more.Pending()
	}
	return n
}

// Wait waits after Close until nothing is pending, or until ctx is done. If this
// process exits earlier, the kernel holds it until all perf events are removed. The error is
// that of ctx, or says which events could not be closed.
func (a *Attachment) Wait(ctx context.Context) error {
	select {
	case <-a.completed:
	case <-ctx.Done():
		return ctx.Err()
	}
	a.mu.Lock()
	adopted, err := a.adopted, a.unclosed
	a.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("detach: %w", err)
	}
	for _, more := range adopted {
		err = errors.Join(err, more.Wait(ctx))
	}
	return err
}

// Missed returns how many calls of functions of the kernel never reached a program.
func (a *Attachment) Missed() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.missed
	for _, l := range a.links {
		n += l.Missed()
	}
	return n
}

// Programs returns the programs that have a link.
func (a *Attachment) Programs() map[*ebpf.Program]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := map[*ebpf.Program]bool{}
	for _, l := range a.links {
		used[l.Prog] = true
	}
	return used
}
