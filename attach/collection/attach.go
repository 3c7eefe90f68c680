package collection

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/reader"
)

// errClosed is the error of a collection that has been closed.
var errClosed = fmt.Errorf("the collection is %w", attach.ErrClosed)

// AttachProgram attaches a program to what a selector names, as [attach.Open] takes it: a program of
// section "usdt" or "usdt/…" to probes, a program of the sections for functions to
// uprobe:PATH:FUNC, or uretprobe:PATH:FUNC if its section is for returns, and a program of the
// sections whose names begin with "kprobe", "ksyscall", "kretprobe", "kretsyscall" and "tracepoint" to
// kprobe:FUNC, kretprobe:FUNC and tracepoint:SYSTEM:EVENT, in all processes. Programs of "fentry.multi",
// "fexit.multi" and "fsession.multi" are attached to fentry:FUNC, fexit:FUNC and fentry:FUNC. The word before
// the first colon may be omitted. It may be called any number of times. Closing the result, or the
// collection, detaches.
//
// Programs of other sections are loaded for one place in the kernel: Attach attaches them there.
//
// In a collection loaded for more than eight PIDs, a program whose section names
// what to attach to does nothing in other processes: attaching it there is an
// error.
//
// When ctx is done, AttachProgram returns its cause; afterwards the program is
// detached. opts may be nil. The kind of link is the collection's: asking for
// another is an error.
func (c *Collection) AttachProgram(ctx context.Context, program, selector string, opts *Options) (*Attachment, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if c.adopted {
		return nil, errAdopted
	}
	p := c.programs[program]
	if p == nil {
		return nil, fmt.Errorf("the collection has no program %q in a section that it attaches", program)
	}
	if p.section.kernel != nil && p.section.links == link.Auto {
		return nil, fmt.Errorf("program %s was loaded for %s, to which Attach attaches it, and for nothing else", program, p.section.selector)
	}
	o, err := opts.attaching()
	if err != nil {
		return nil, err
	}
	if c.isClosed() {
		return nil, errClosed
	}
	if err := p.serves(o.Target.PIDs); err != nil {
		return nil, err
	}
	if p.section.ofKernel() && len(o.Target.PIDs) > 0 {
		return nil, &attach.OptionError{Option: "PIDs", Err: errors.New("the kernel runs programs at its functions and tracepoints in all processes")}
	}
	if o.Link != attach.AutoLink && link.Kind(o.Link) != c.kind {
		return nil, fmt.Errorf("the collection's programs were loaded for %v links, not %v", c.kind, o.Link)
	}
	if len(o.Target.PIDs) > 0 && c.kind == link.Multi {
		err := link.MultiPIDFilter.Require()
		if errors.Is(err, ebpf.ErrNotSupported) {
			return nil, fmt.Errorf("this kernel's %v links filter threads, not processes: %w", c.kind, err)
		}
		if err != nil {
			return nil, privilege.Explain("ask the kernel for uprobe_multi", err)
		}
	}
	t, err := c.newTarget(ctx, p, selectorFor(p, selector), &o)
	if err != nil {
		return nil, err
	}
	defer t.objects.Close()
	a, err := c.attach(ctx, p, t)
	if err != nil {
		return nil, err
	}
	return &Attachment{a}, nil
}

// attach attaches to the sites of t, and with Rescan to later ones.
func (c *Collection) attach(ctx context.Context, p *program, t *target) (*site.Attachment, error) {
	a, err := c.attachSites(ctx, p, t)
	if err != nil {
		t.procs.Close()
		return nil, err
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.attachments[a] = p
	}
	c.mu.Unlock()
	if closed {
		a.Close()
		t.procs.Close()
		c.await(a)
		return nil, errClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	waitEnded := c.dropEnded(ctx, t)
	rescanned := make(chan struct{})
	if t.options.Rescan > 0 {
		t.discover.Listen()
	}
	go func() {
		defer close(rescanned)
		if t.options.Rescan > 0 {
			t.discover.Follow(ctx, t.options.Rescan, func(look discover.Look, _ time.Time) (then func()) {
				var stranded []discover.Owner
				if t.sharing == nil { // also where a process has mapped files: it may have executed its program
					stranded = a.Stranded(c.kindOf(p), t.procs, t.discover)
				}
				found, err := look(ctx)
				plan := site.PlanOf(found)
				return func() {
					a.Leave(stranded, func(error) {}) // what the kernel answers changes nothing here
					if err == nil && len(plan) > 0 {
						c.extend(ctx, a, p, t, plan)
					}
					a.Leave(append(t.discover.Ended, t.sharing.Leave(t.discover.Ended, t.procs)...), func(error) {})
				}
			})
		}
	}()
	stop := context.AfterFunc(ctx, func() { a.Close() })
	a.WhenReleased(func() {
		stop()
		cancel()
		<-rescanned
		waitEnded()
		t.procs.Close()
		c.mu.Lock()
		delete(c.attachments, a)
		c.mu.Unlock()
		c.await(a)
	})
	return a, nil
}

// await adds a to what Wait waits for: the kernel has yet to remove its perf
// events.
func (c *Collection) await(a *site.Attachment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = slices.DeleteFunc(append(c.pending, a), func(a *site.Attachment) bool { return a.Pending() == 0 })
}

// attachSites attaches to the sites that are not refused.
func (c *Collection) attachSites(ctx context.Context, p *program, t *target) (*site.Attachment, error) {
	if len(t.plan) == 0 {
		return site.Unattached(nil), nil
	}
	c.using.RLock()
	defer c.using.RUnlock()
	if c.isClosed() {
		return nil, errClosed
	}
	ids, err := c.specs.acquire(t.specs)
	if err != nil {
		return nil, err
	}
	followers := t.sharing.Share(t.plan, t.objects)
	groups := site.Groups{Objects: t.objects, Procs: t.procs, Session: p.section.session, Kernel: p.linkTo, Unpatched: t.discover.Unpatched}
	for i := range t.plan {
		if t.plan[i].Reason == nil && followers[i] == nil {
			cookie := t.cookies[i]
			if t.specs[i] != "" {
				cookie = uint64(ids[t.specs[i]])
			}
			groups.Add(&t.plan[i], p.prog, cookie)
		}
	}
	a, err := site.Attach(ctx, t.plan, groups.All, c.kindOf(p))
	if err != nil {
		c.specs.release(ids)
		return nil, err
	}
	t.sharing.Follow(t.plan, followers)
	a.WhenReleased(func() { c.specs.release(ids) })
	return a, nil
}

// kindOf returns the kind of link by which a program is attached.
func (c *Collection) kindOf(p *program) link.Kind {
	switch {
	case p.section.links != link.Auto:
		return p.section.links
	case p.section.session:
		return link.Multi // there is no other
	}
	return c.kind
}

// extend attaches to new sites, and reports errors in the plan.
func (c *Collection) extend(ctx context.Context, a *site.Attachment, p *program, t *target, plan site.Plan) {
	added := &target{options: t.options, discover: t.discover, procs: t.procs, sharing: t.sharing, note: t.note, built: t.built, plan: plan}
	if added.bind(ctx, c.specs) != nil {
		return
	}
	defer added.objects.Close()
	plan = added.plan
	a.Left(plan)
	more, err := c.attachSites(ctx, p, added)
	if context.Cause(ctx) != nil && err != nil {
		return
	}
	if err != nil {
		plan.Refuse(err)
		more = site.Unattached(plan)
	}
	a.Adopt(more)
}

// refuse keeps for Plan why a program could not be attached to its sites.
func (c *Collection) refuse(p *program, plan site.Plan, err error) {
	plan.Refuse(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	p.refused = plan
}

// Plan returns a copy of what was decided and done for every site of a program
// until now, also if Attach could attach the program to none of them.
func (c *Collection) Plan(program string) attach.Plan {
	c.mu.Lock()
	p := c.programs[program]
	var plan attach.Plan
	if p != nil {
		plan = handOut(p.refused)
	}
	if p != nil && p.target != nil {
		plan = append(plan, handOut(p.target.plan)...)
	}
	attached := c.attachedBy(p)
	c.mu.Unlock()
	for _, a := range attached {
		a.LookAt(0, func(sites site.Plan) { plan = append(plan, handOut(sites)...) })
	}
	return plan
}

// Sites yields the sites of a program as Attach attaches to them, refuses them and leaves them, see
// [attach.Attachment.Sites]: call it after Attach. If Attach has attached the program to nothing,
// Sites yields what [Collection.Plan] has and ends. An [Attachment] has Sites of its own.
func (c *Collection) Sites(ctx context.Context, program string) iter.Seq2[attach.Site, bool] {
	return func(yield func(attach.Site, bool) bool) {
		c.attaching.Lock()
		var own *site.Attachment
		if p := c.programs[program]; p != nil {
			own = p.own
		}
		c.attaching.Unlock()
		if own != nil {
			(&Attachment{own}).Sites(ctx)(yield)
			return
		}
		for _, s := range c.Plan(program) {
			if !yield(s, false) {
				return
			}
		}
	}
}

// Close detaches all programs and closes them and the maps. Later calls return
// the same error.
func (c *Collection) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		c.closed = true
		c.forget()
		attached := slices.Collect(maps.Keys(c.attachments))
		c.mu.Unlock()
		all := []error{attach.CloseAll(attached...)}
		c.using.Lock() // programs that are being attached
		defer c.using.Unlock()
		for _, p := range c.programs {
			all = append(all, c.detachKernel(p, nil))
		}
		c.closeErr = errors.Join(all...)
		c.Collection.Close()
		c.processes.Close()
	})
	return c.closeErr
}

func (c *Collection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Wait waits after Close until the kernel has removed all perf events, see
// [Attachment.Wait].
func (c *Collection) Wait(ctx context.Context) error {
	c.mu.Lock()
	pending := slices.Clone(c.pending)
	c.mu.Unlock()
	for _, a := range pending {
		if err := a.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// linkTo returns the kind of the link to a site of the kernel.
func (p *program) linkTo(*reader.Probe) link.Kind { return p.section.links }
