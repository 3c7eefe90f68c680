package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Stats are the numbers of events of a session. While it is attached they are
// a snapshot; afterwards Fired = Received + Lost + Filtered + Missed + Unread
// holds exactly as soon as Events has ended or Close was called.
type Stats struct {
	Fired    uint64 // by all attached sites
	Received uint64 // delivered by Events, or counted in the groups that Read returned
	Lost     uint64 // dropped: the ring buffer or the groups were full, or an argument to aggregate could not be read
	Filtered uint64 // did not pass Options.Where
	Missed   uint64 // suppressed by the kernel to prevent recursion
	Unread   uint64 // recorded, but not received before Close

	Unmatched uint64 // of the filtered: starts and ends of a latency without the other
}

// tracing is what a Session and an Aggregate have in common: generated programs
// attached to sites, and their counters.
type tracing struct {
	attached *site.Attachment

	maps    *maps
	sites   atomic.Pointer[siteTable]
	cancel  context.CancelFunc
	watches sync.WaitGroup

	finding sync.Mutex // of what follows
	looked  time.Time  // for sites, when it began
	over    bool       // sites are looked for no more

	// For finding and attaching to sites:
	options   *settings
	kind      link.Kind
	layout    *bind.Layout // nil to record events
	selectors []selector.Selector
	discover  *discover.Search
	searching context.Context // until when sites are looked for
	procs     *process.Set
	sharing   *site.Sharing // of links by processes; nil if they are few
	numbers   numbering     // of sites
	source    source        // of records; nil of an aggregate

	received, unread atomic.Uint64
	handled          atomic.Uint64 // of received, those that readers are done with

	mu      sync.Mutex // of what follows, and of the life of maps and progs
	progs   programs
	closed  bool
	final   Stats
	pairs   PairStats // as last counted
	stopErr error
}

// attach plans, generates and attaches. prepared is called with the maps before
// the first event can fire. layout is nil to record events.
func (t *tracing) attach(ctx context.Context, selectors []string, o *settings, layout *bind.Layout, prepared func(*maps) error) (err error) {
	t.options, t.layout = o, layout
	t.searching = ctx
	if t.procs, err = process.Hold(o.Target.PIDs); err != nil {
		return err
	}
	if t.selectors, err = parseSelectors(selectors); err != nil {
		return err
	}
	if err := optionError("Args", o.functionArgs.Fits(t.selectors)); err != nil {
		return err
	}
	t.discover = discover.New(t.selectors, t.procs)
	t.looked = time.Now()
	t.discover.Await = o.Await
	found, err := t.discover.First(ctx)
	if err != nil && !(o.Await && errors.Is(err, discover.ErrNoMatch)) {
		return err
	}
	plan := site.PlanOf(found)
	t.sharing = site.NewSharing(t.procs)
	if t.kind, err = link.Choose(link.Kind(o.Link), len(o.Target.PIDs) > 0 && t.sharing == nil); err != nil {
		return err
	}
	if t.kind == link.Perf && t.sharing == nil && o.Rescan > 0 {
		t.procs.WatchLeaders()
	}
	planner := newPlanner(o.Force)
	defer planner.Objects.Close()
	used := bind.NewOptionUse(o.texts[:len(o.Strings)], o.Follow)
	schemas, err := t.plan(ctx, planner, plan, layout, used)
	if err == nil {
		err = t.misfit(plan, schemas)
	}
	if err == nil {
		err = optionError(used.Check())
	}
	if err == nil && layout != nil && len(plan) > 0 {
		err = whereError(layout.Fits())
	}
	if err != nil {
		return err
	}
	signatures, scratch := t.unknown(signaturesOf(schemas))
	if t.maps, err = newMaps(o.RingSize, scratch, layout == nil); err == nil && len(signatures) > 0 && layout != nil {
		err = t.maps.addGroups(layout)
	}
	if err == nil {
		err = t.maps.addSelection(o)
	}
	if err == nil && t.kind.Slow() {
		err = t.maps.addStop()
	}
	if err == nil && t.sharing != nil {
		err = t.maps.addProcesses(t.procs)
	}
	if err != nil {
		return privilege.Explain("prepare tracing", err)
	}
	if err := prepared(t.maps); err != nil {
		return err
	}
	followers := t.share(plan, schemas, planner.Objects)
	numbers := t.numbers.give(plan, schemas, layout != nil)
	t.sites.Store(t.sites.Load().with(plan, schemas, numbers))
	refused, err := t.load(ctx, signatures, t.maps)
	if err != nil {
		return err
	}
	if err := leaveOut(plan, schemas, refused); err != nil {
		return err
	}
	groups := t.groups(plan, schemas, followers, planner.Objects, numbers)
	if len(plan) > 0 {
		t.attached, err = site.Attach(ctx, plan, groups, t.kind)
		if err != nil && !(o.Await && plan.Gone()) {
			return err
		}
		site.Follow(plan, followers)
	}
	if err := layout.Half(plan); err != nil && t.attached != nil && !o.Await {
		t.attached.Close()
		t.attached.Wait(context.WithoutCancel(ctx))
		return err
	}
	if t.attached == nil {
		t.attached = site.Unattached(plan)
	}
	if t.kind.Slow() {
		t.attached.Halt = t.maps.stop
	}
	return nil
}

// plan decides what is done at each site. The error is the cause of ctx. Which
// options are of use is noted in used, if that is not nil.
func (t *tracing) plan(ctx context.Context, planner *plan.Planner, plan site.Plan, layout *bind.Layout, used *bind.OptionUse) ([]*bind.Schema, error) {
	for i := range plan {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		plan[i].Decide(planner)
	}
	o := t.options
	schemas, err := bind.All(ctx, plan, &bind.Binder{
		Hook: hookOf(t.kind), MaxString: o.MaxString, Texts: o.texts, Follow: o.Follow, Args: o.functionArgs, Where: o.condition, Aggregate: layout, Objects: planner.Objects, Used: used,
	})
	for i := range plan {
		if misfit, ok := plan[i].Reason.(*bind.Misfit); ok {
			misfit.Err = whereError(misfit.Err)
		}
	}
	return schemas, err
}

// misfit returns why the sites that a selector names were left out, if there is
// such a selector and it has no others: what it asks for is a mistake.
func (t *tracing) misfit(plan site.Plan, schemas []*bind.Schema) error {
	var left []int
	for i := range plan {
		var misfit *bind.Misfit
		switch {
		case !errors.As(plan[i].Reason, &misfit):
		case errors.Is(misfit, bind.ErrBothRoles):
			return misfit.Err
		default:
			left = append(left, i)
		}
	}
	for s := range t.selectors {
		names := func(i int) bool { return discover.Selects(&t.selectors[s], &plan[i].Probe) }
		first := slices.IndexFunc(left, names)
		if first < 0 {
			continue
		}
		fits := false
		for i := range plan {
			if schemas[i] != nil && names(i) {
				fits = true
				break
			}
		}
		if !fits {
			return plan[left[first]].Reason.(*bind.Misfit).Err
		}
	}
	return nil
}

// signaturesOf returns the different signatures.
func signaturesOf(schemas []*bind.Schema) (signatures []*codegen.Signature) {
	seen := map[*codegen.Signature]bool{}
	for _, sc := range schemas {
		if sc != nil && !seen[sc.Sig] {
			seen[sc.Sig] = true
			signatures = append(signatures, sc.Sig)
		}
	}
	return signatures
}

// unknown returns those signatures for which there is no program yet, and the
// size of the scratch memory that they need.
func (t *tracing) unknown(signatures []*codegen.Signature) (out []*codegen.Signature, scratch int) {
	for _, sig := range signatures {
		if _, ok := t.progs.find(sig); ok {
			continue
		}
		out = append(out, sig)
		if sig.NeedsScratch() {
			scratch = max(scratch, sig.ScratchSize())
		}
	}
	return out, scratch
}

// load creates programs for the signatures. It returns why some of them have
// none; the error concerns all.
func (t *tracing) load(ctx context.Context, signatures []*codegen.Signature, m *maps) (refused map[*codegen.Signature]error, err error) {
	refuse := func(sig *codegen.Signature, err error) {
		if refused == nil {
			refused = map[*codegen.Signature]error{}
		}
		refused[sig] = err
	}
	var untried []*codegen.Signature
	for _, sig := range signatures {
		if err := t.progs.refusal(sig); err != nil {
			refuse(sig, t.loadError(err))
		} else {
			untried = append(untried, sig)
		}
	}
	signatures = untried
	specs, forms := codegen.Specs(signatures, &m.Refs)
	for i, spec := range specs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		var in []*codegen.Signature // the program
		for _, sig := range signatures {
			if forms[sig].Program == i {
				in = append(in, sig)
			}
		}
		prog, err := t.progs.new(spec, in)
		var missing *privilege.Error
		switch {
		case err == nil:
			t.mu.Lock()
			t.progs.add(prog, in, forms)
			t.mu.Unlock()
			continue
		case errors.As(privilege.Explain("load", err), &missing):
			return nil, privilege.Explain("load the programs that read arguments", err)
		}
		if len(in) == 1 {
			t.progs.refuse(in[0], err)
			refuse(in[0], t.loadError(err))
			continue
		}
		// One of them it is. Each gets a program of its own.
		for _, sig := range in {
			alone, err := t.load(ctx, []*codegen.Signature{sig}, m)
			if err != nil {
				return nil, err
			}
			if alone[sig] != nil {
				refuse(sig, alone[sig])
			}
		}
	}
	return refused, nil
}

// loadError is why a signature's program could not be loaded.
func (t *tracing) loadError(err error) error {
	if errors.Is(err, unix.E2BIG) && t.options.condition != nil {
		return &WhereError{Where: t.options.Where, Column: 1, Msg: "it is too long for the kernel: a program has room for fewer comparisons, and time for fewer or shorter pieces of text between stars"}
	}
	return fmt.Errorf("load the program that reads its arguments: %w", err)
}

// leaveOut refuses the sites of signatures that have no program. It returns an
// error if the condition is the reason and no site is left.
func leaveOut(plan site.Plan, schemas []*bind.Schema, refused map[*codegen.Signature]error) error {
	var where *WhereError
	left := false
	for i, sc := range schemas {
		switch {
		case sc == nil:
		case refused[sc.Sig] == nil:
			left = true
		default:
			plan[i].Reason = refused[sc.Sig]
			errors.As(plan[i].Reason, &where)
			schemas[i] = nil
		}
	}
	if where != nil && !left {
		return where
	}
	return nil
}

// share decides which sites share the link of another one, and refuses those that
// cannot.
func (t *tracing) share(plan site.Plan, schemas []*bind.Schema, objects operand.Objects) (followers map[int]*site.Site) {
	followers = t.sharing.Share(plan, objects)
	for i := range plan {
		if followers[i] == nil && plan[i].Reason != nil {
			schemas[i] = nil
		}
	}
	return followers
}

// groups returns the sites by link. Those that follow another one have none.
func (t *tracing) groups(plan site.Plan, schemas []*bind.Schema, followers map[int]*site.Site, objects operand.Objects, numbers []int) []*site.Group {
	groups := site.Groups{Objects: objects, Procs: t.procs}
	codes := map[*codegen.Signature]code{}
	for i := range plan {
		sc := schemas[i]
		if sc == nil || followers[i] != nil {
			continue
		}
		c, ok := codes[sc.Sig]
		if !ok {
			c, _ = t.progs.find(sc.Sig)
			codes[sc.Sig] = c
		}
		groups.Add(&plan[i], c.prog, c.form.Cookie(numbers[i]))
	}
	return groups.All
}

// watch calls stop when ctx is done or all processes have ended.
func (t *tracing) watch(ctx context.Context, o *settings, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	t.cancel = cancel
	if len(o.Target.PIDs) > 0 {
		var eg errgroup.Group
		for _, pid := range o.Target.PIDs {
			eg.Go(func() error {
				err := t.procs.Wait(ctx, pid)
				if t.sharing != nil && ctx.Err() == nil {
					t.maps.Processes.Delete(uint32(pid))
				}
				return err
			})
		}
		t.watches.Go(func() {
			if err := eg.Wait(); err != nil && ctx.Err() == nil {
				t.fail(err) // why tracing ends earlier than the processes
			}
			cancel()
		})
	}
	if o.Rescan > 0 {
		t.searching = ctx
		t.watches.Go(func() { t.rescan(ctx) })
	}
	t.watches.Go(func() {
		<-ctx.Done()
		if err := stop(); err != nil {
			t.mu.Lock()
			t.stopErr = err
			t.mu.Unlock()
		}
	})
}

// Plan returns a copy of what was decided and done for every site until now, see
// [Attachment.Plan].
func (t *tracing) Plan() Plan { return handOut(t.attached.Plan()) }

// PlanSince is Plan for what is new, see [Attachment.PlanSince].
func (t *tracing) PlanSince(n int) (Plan, int) {
	plan, known := t.attached.PlanSince(n)
	return handOut(plan), known
}

// Pending returns the number of perf events that the kernel has still to remove
// after Close, see [Attachment.Pending].
func (t *tracing) Pending() int { return t.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done, see
// [Attachment.Wait].
func (t *tracing) Wait(ctx context.Context) error { return t.attached.Wait(ctx) }

// Stats returns the numbers of events until now.
func (t *tracing) Stats() (Stats, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.countLocked()
}

func (t *tracing) countLocked() (Stats, error) {
	if t.closed {
		return t.final, nil
	}
	// What was received has fired before: in this order the sum never
	// shows more received than fired.
	received := t.received.Load()
	count := t.countPrograms
	if t.source != nil {
		count = t.source.counts
	}
	st, err := count()
	st.Received += received
	st.Unread = t.unread.Load()
	return st, err
}

// countPrograms returns what programs have counted.
func (t *tracing) countPrograms() (st Stats, err error) {
	c, err := t.maps.count()
	if err != nil {
		return st, err
	}
	if st.Missed, err = t.progs.countMissed(); err != nil {
		return st, err
	}
	st.Fired = c.at(codegen.CounterFired) + st.Missed
	st.Lost = c.at(codegen.CounterLost)
	st.Filtered = c.at(codegen.CounterFiltered)
	if t.layout != nil && t.layout.Pairs != nil {
		p, err := t.maps.pairs(&c)
		if err != nil {
			return st, err
		}
		st.Received = p.Pairs
		st.Lost += p.Evicted + p.TooDeep
		st.Filtered += p.Dropped + p.Pending + p.Unstarted
		st.Unmatched = p.Pending + p.Unstarted
		t.pairs = p
	}
	return st, nil
}

// finishLocked fixes the statistics before maps and programs are released.
func (t *tracing) finishLocked() error {
	st, err := t.countLocked()
	t.final, t.closed = st, true
	return err
}

func (t *tracing) release() {
	t.progs.Close()
	if t.maps != nil {
		t.maps.Close()
	}
	if t.procs != nil {
		t.procs.Close()
	}
}
