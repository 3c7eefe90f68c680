package attach

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// attach plans, generates and attaches. prepared is called with the maps before
// the first event can fire. layout is nil to record events.
func (t *tracing) attach(ctx context.Context, selectors []string, o *settings, layout *bind.Layout, prepared func(*load.Maps) error) (err error) {
	t.options, t.layout = o, layout
	t.searching = ctx
	if err := t.openSides(o); err != nil {
		return err
	}
	if err := t.beginLosses(); err != nil {
		return err
	}
	if t.tally != nil {
		t.tally.Torn, t.tally.Saved = t.losses.Between, t.savedStack
	}
	if t.procs, err = process.Hold(o.Target.PIDs); err != nil {
		return err
	}
	if t.selectors, err = parseSelectors(selectors); err != nil {
		return err
	}
	if o.Stack > 0 && o.Target.Via != ViaRecording {
		t.code = naming.Open(o.Target.PIDs, o.Target.Via.attaches())
	}
	if err := optionError("Args", o.functionArgs.Fits(t.selectors)); err != nil {
		return err
	}
	if err := t.fits(); err != nil {
		return err
	}
	found, err := t.find(ctx)
	if err != nil && !(o.Await && errors.Is(err, discover.ErrNoMatch)) {
		return err
	}
	plan := site.PlanOf(found)
	var again func(pid int)
	if o.Await {
		again = t.discover.Forget
	}
	if plan, err = t.claim(ctx, plan, again); err != nil {
		return err
	}
	kernel := o.Target.Via.attaches()
	if kernel {
		if err := t.chooseLink(); err != nil {
			return err
		}
	}
	planner := newPlanner(o.Force)
	defer planner.Objects.Close()
	used := bind.NewOptionUse(o.strings[:len(o.Strings)], o.Follow)
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
	if !kernel {
		return t.attachLocal(ctx, plan, schemas, prepared)
	}
	signatures, scratch := t.unknown(signaturesOf(plan, schemas))
	if t.maps, err = load.NewMaps(o.RingSize, scratch, layout == nil || o.recorded || layout.Whole()); err == nil && layout != nil && bound(schemas) {
		err = t.addGroups(t.maps, layout, schemas)
	}
	if err == nil {
		err = t.maps.AddSelection(&load.Selecting{Comm: o.Target.Comm, Exe: o.Target.Exe, Cgroup: o.Target.Cgroup, Await: o.Await})
		if at := (*load.SelectionError)(nil); errors.As(err, &at) {
			err = &OptionError{at.Name, at.Err}
		}
	}
	if err == nil && (o.condition != nil || layout != nil) {
		err = t.maps.AddFaults()
	}
	together := t.together()
	if err == nil && (together || t.kind.Slow()) {
		t.maps.Stopped, err = load.NewSwitch(together)
	}
	if err == nil && t.sharing != nil {
		err = t.maps.AddProcesses(t.procs)
	}
	if err != nil {
		return privilege.Explain("prepare tracing", err)
	}
	if err := prepared(t.maps); err != nil {
		return err
	}
	followers := t.share(plan, schemas, planner.Objects)
	numbers, inKeys := t.give(plan, schemas)
	t.sites.Store(t.sites.Load().with(plan, schemas, numbers, inKeys))
	refused, err := t.load(ctx, signatures, t.maps)
	if err != nil {
		return err
	}
	if err := leaveOut(plan, schemas, refused); err != nil {
		return err
	}
	groups := t.groups(plan, schemas, followers, planner.Objects, numbers)
	t.watchSides(ctx, plan, schemas, numbers)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(plan) > 0 {
		t.attached, err = site.Attach(ctx, plan, groups, t.kind)
		if err != nil && !(o.Await && plan.Gone()) {
			return err
		}
		t.sharing.Follow(plan, followers)
	}
	if err := layout.Half(plan); err != nil && t.attached != nil && !o.Await {
		t.attached.Close()
		t.attached.Wait(context.WithoutCancel(ctx))
		return err
	}
	if t.attached == nil {
		t.attached = site.Unattached(plan)
	}
	if together || t.kind.Slow() {
		t.attached.Halt, t.attached.Slow = t.maps.Stop, t.kind.Slow()
	}
	if !together {
		return nil
	}
	if err := load.Turn(t.maps.Stopped, 0, 0); err != nil {
		t.attached.Close()
		t.attached.Wait(context.WithoutCancel(ctx))
		return err
	}
	t.begunSides()
	return nil
}

// together reports whether all sites begin and end at the same time: what is matched, now or
// when a recording is read, would otherwise have starts whose ends were not seen, which later
// ends would be taken for.
func (t *tracing) together() bool {
	return t.layout != nil && t.layout.Pairs != nil || t.options.keep
}

// find looks for sites for the first time.
func (t *tracing) find(ctx context.Context) (found discover.Sites, err error) {
	t.scanned = time.Now()
	search := func() (*discover.Search, discover.Sites, error) {
		d := discover.New(t.selectors, t.procs)
		d.Exe, d.Comm = t.options.Target.Exe, t.options.Target.Comm
		if local := t.options.Target.Via == ViaLocal; t.options.Await {
			d.Await, d.Passing = !local, local
		}
		found, err := d.First(ctx)
		return d, found, err
	}
	for _, side := range t.sides {
		usual := search
		search = func() (*discover.Search, discover.Sites, error) { return side.Search(ctx, t.selectors, usual) }
	}
	t.discover, found, err = search()
	return found, err
}

// chooseLink decides how programs are attached.
func (t *tracing) chooseLink() (err error) {
	o := t.options
	t.sharing = site.NewSharing(t.procs)
	if t.kind, err = link.Choose(link.Kind(o.Link), len(o.Target.PIDs) > 0 && t.sharing == nil); err != nil {
		return err
	}
	if t.kind == link.Perf && t.sharing == nil && o.Rescan > 0 {
		t.procs.WatchLeaders()
	}
	return nil
}

// plan decides what is done at each site, and notes in used, unless it is nil,
// which options have an effect. The error is the cause of ctx.
func (t *tracing) plan(ctx context.Context, planner *plan.Planner, plan site.Plan, layout *bind.Layout, used *bind.OptionUse) ([]*bind.Schema, error) {
	if err := plan.Decide(ctx, planner); err != nil {
		return nil, err
	}
	o := t.options
	var hook query.Hook
	if o.Target.Via.attaches() {
		hook = hookOf(t.kind)
	}
	schemas, err := bind.All(ctx, plan, &bind.Binder{
		Hook: hook, MaxString: o.MaxString, Strings: o.strings, Follow: o.Follow, Args: o.functionArgs, Condition: o.condition, Aggregate: layout, Objects: planner.Objects, Used: used, Recorded: o.recorded, Tests: o.tests, Sample: o.Sample, Omit: o.Omit.fields(), Stack: o.Stack, Unwind: o.Unwind, Prototypes: o.Prototypes, Keep: o.keep, Keys: o.keys, Spanned: t.spanned(),
	})
	for i := range plan {
		if misfit, ok := plan[i].Reason.(*bind.Misfit); ok {
			misfit.Err = whereError(misfit.Err)
		}
	}
	return schemas, err
}

// misfit returns why all sites of some selector were left out, if there is such a
// selector: what the caller asks for does not fit any of them.
func (t *tracing) misfit(plan site.Plan, schemas []*bind.Schema) error {
	var left []int
	for i := range plan {
		misfit, ok := plan[i].Reason.(*bind.Misfit)
		switch {
		case !ok:
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

// share decides which sites share another site's link, and refuses sites that need
// one and cannot.
func (t *tracing) share(plan site.Plan, schemas []*bind.Schema, objects operand.Objects) (followers map[int]*site.SharedLink) {
	followers = t.sharing.Share(plan, objects)
	for i := range plan {
		if followers[i] == nil && plan[i].Reason != nil {
			schemas[i] = nil
		}
	}
	return followers
}

// groups returns the sites by link. A site that shares another one's link has
// none.
func (t *tracing) groups(plan site.Plan, schemas []*bind.Schema, followers map[int]*site.SharedLink, objects operand.Objects, numbers []int) []*site.Group {
	groups := site.Groups{Objects: objects, Procs: t.procs}
	codes := map[*query.Signature]load.Code{}
	for i := range plan {
		sc := schemas[i]
		if sc == nil || followers[i] != nil || plan[i].Local {
			continue
		}
		c, ok := codes[sc.Sig]
		if !ok {
			c, _ = t.progs.Find(sc.Sig)
			codes[sc.Sig] = c
		}
		groups.Add(&plan[i], c.Prog, c.Entry.Cookie(numbers[i]))
	}
	return groups.All
}
