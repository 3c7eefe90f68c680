package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/family"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// attach plans, generates and attaches. layout is nil to record events.
func (t *tracing) attach(ctx context.Context, selectors []string, o *settings, layout *bind.Layout) (err error) {
	t.options, t.layout = o, layout
	t.searching = ctx
	if err := t.openSides(o); err != nil {
		return err
	}
	if err := t.openGroups(o, layout); err != nil {
		return err
	}
	if layout != nil {
		layout.Groups = t.namer()
	}
	if err := t.beginLosses(); err != nil {
		return err
	}
	if t.tally != nil {
		t.tally.Torn, t.tally.Saved = t.losses.Between, t.savedStack
	}
	if t.procs, err = process.Hold(o.Target.only()); err != nil {
		return err
	}
	if o.Target.Children {
		if t.family, err = family.Follow(o.Target.PIDs); err != nil {
			return privilege.Explain("follow children", err)
		}
	}
	if t.selectors, err = parseSelectors(selectors); err != nil {
		return err
	}
	if o.Stack > 0 && o.Target.Via != ViaRecording {
		var members func() ([]int, error)
		if t.family != nil {
			members = t.family.PIDs
		}
		t.code = naming.Open(o.Resolver, o.Target.only(), o.Target.Via.attaches(), members)
	}
	if err := optionError("Args", o.functionArgs.Fits(t.selectors)); err != nil {
		return err
	}
	if err := t.fits(); err != nil {
		return err
	}
	found, err := t.find(ctx)
	if err != nil && !(o.Await && errors.Is(err, discover.ErrNoMatch) && !errors.Is(err, discover.ErrNoFunction)) {
		return err
	}
	plan := site.PlanOf(found)
	if err := t.checkKernel(plan); err != nil {
		return err
	}
	var again func(pid int)
	if o.Await {
		again = t.discover.Forget
	}
	if plan, err = t.claim(ctx, plan, again); err != nil {
		return err
	}
	planner := newPlanner(o.Force)
	defer planner.Objects.Close()
	plan = plan.AtReturns(planner)
	t.expect()
	schemas, err := t.plan(ctx, planner, plan, layout, t.used)
	if err == nil {
		err = t.unmet(plan, schemas, layout)
	}
	if err != nil {
		return err
	}
	b := &batch{plan: plan, schemas: schemas, objects: planner.Objects}
	if t.programs != nil {
		err = t.programs.prepare(b)
	} else if layout != nil && bound(schemas) {
		err = t.addGroups(nil, layout, schemas)
	}
	if err != nil {
		return err
	}
	if err := t.openSource(); err != nil {
		return err
	}
	t.number(b)
	if t.programs != nil {
		if err := t.programs.load(ctx, b, t.programs.maps); err != nil {
			return err
		}
	}
	t.watchSides(ctx, b)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if t.programs != nil {
		err = t.programs.attach(ctx, b)
	} else {
		t.attached = site.Unattached(plan)
		err = t.unattached(plan)
	}
	t.begunSides()
	return err
}

// unattached returns why sites without programs are not enough.
func (t *tracing) unattached(plan site.Plan) error {
	if len(plan) > 0 && plan.Attached() == 0 && !(t.options.Await && plan.Gone()) {
		return plan.Refused()
	}
	if err := t.layout.Half(plan); err != nil && !t.options.Await {
		return err
	}
	return nil
}

// batch is sites that are attached to at a time.
type batch struct {
	plan    site.Plan
	schemas []*bind.Schema // nil for refused sites
	objects operand.Objects
	numbers []int

	calls      map[int]int              // by starts, the ends that their programs also are
	programs   map[int]*query.Signature // of these starts and ends; other sites use their schemas' signatures
	signatures []*query.Signature       // that need a program
	followers  map[int]*site.SharedLink // of sites that share another site's link
}

// number gives the sites of a batch their numbers, by which records can name them from now on.
func (t *tracing) number(b *batch) {
	if t.programs != nil {
		t.programs.share(b)
	}
	var inKeys []int
	shared := t.layout != nil && !t.options.recorded && !t.layout.Whole() && !t.layout.Wanted.ByStack()
	var groupName func(*reader.Probe) string
	if t.layout != nil {
		groupName = t.layout.GroupName
	}
	b.numbers, inKeys = t.numbers.Give(b.plan, b.schemas, groupName, shared)
	t.sites.Store(t.sites.Load().With(b.plan, b.schemas, b.numbers, inKeys))
}

// together reports whether sites of one batch begin at the same time in every case: sites that are
// found later, and sites whose processes record, as well. Matching, now or when a recording is read,
// would otherwise have starts whose ends were not seen, and take later ends for theirs. A process
// could end by a signal while it is attached to.
func (t *tracing) together() bool {
	return t.layout != nil && t.layout.Pairs != nil || t.options.keep || t.options.Signal.Number != 0
}

// find looks for sites for the first time.
func (t *tracing) find(ctx context.Context) (found discover.Sites, err error) {
	t.scanned = time.Now()
	search := func() (*discover.Search, discover.Sites, error) {
		d := discover.New(t.selectors, t.procs)
		d.Exe, d.Comm, d.Later = t.options.Target.Exe, t.options.Target.Comm, t.options.Await
		if t.family != nil {
			d.Members = t.family.PIDs
		}
		if local := t.options.Target.Via == ViaLocal; t.options.Await {
			d.Await, d.Passing = !local, local
			if target := t.options.Target; target.Exe != "" || target.Comm != "" {
				target.Cgroup, target.Container, target.Pod = "", "", "" // which processes are moved to, long after they have mapped their files
				d.Selects = func(pid int) bool { ok, err := target.selects(pid); return ok && err == nil }
			}
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

// plan decides what is done at each site, and notes in used, unless it is nil,
// which options have an effect. The error is the cause of ctx.
func (t *tracing) plan(ctx context.Context, planner *plan.Planner, plan site.Plan, layout *bind.Layout, used *bind.OptionUse) ([]*bind.Schema, error) {
	if err := plan.Decide(ctx, planner); err != nil {
		return nil, err
	}
	o := t.options
	if !o.Force {
		t.avoid(plan)
	}
	var hook query.Hook
	var kernel func(*reader.Probe) query.Hook
	if t.programs != nil {
		hook = hookOf(t.programs.kind)
		hook.Sleeps = hook.Sleeps && o.Then == nil // programs that may sleep go on with no other
		if t.programs.inKernel() {
			kernel = t.programs.kernelHook
			if err := t.programs.measureReturns(layout); err != nil {
				return nil, err
			}
		}
	}
	types := discover.NewTypes(t.selectors)
	defer types.Close()
	schemas, err := bind.All(ctx, plan, &bind.Binder{
		Hook: hook, KernelHook: kernel, MaxString: o.MaxString, Strings: o.strings, Follow: o.Follow, Args: o.functionArgs, Condition: o.condition, On: o.on, Aggregate: layout, Objects: planner.Objects, Used: used, Recorded: o.recorded, Tests: o.tests, Sample: o.Sample, Signal: query.Signal(o.Signal.Number), Omit: o.Omit.fields(), Stack: o.Stack, Unwind: o.Unwind, Prototypes: o.Prototypes, Types: types, Keep: o.keep, Groups: t.namer(), InEvents: o.Groups && t.groups != nil, Keys: o.keys, Spanned: t.spanned(),
	})
	for i := range plan {
		if misfit, ok := plan[i].Reason.(*bind.Misfit); ok {
			misfit.Err = whereError(misfit.Err)
		}
	}
	return schemas, err
}

// avoid refuses sites that harm their program beside others which the selectors name, as far as
// Options.Prototypes know that.
func (t *tracing) avoid(plan site.Plan) {
	for i := range plan {
		p := &plan[i].Probe
		with, why := t.options.Prototypes.Danger(p.Path, p.Provider, p.Name)
		if with == "" || plan[i].Reason != nil {
			continue
		}
		if slices.ContainsFunc(t.selectors, func(s selector.Selector) bool { return s.Match(p.Path, p.Provider, with) }) {
			plan[i].Reason = fmt.Errorf("%w: %s if %s:%s is traced as well", ErrUnsafe, why, p.Provider, with)
		}
	}
}
