package attach

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// rescan attaches to sites that appear, until ctx is done.
func (t *tracing) rescan(ctx context.Context) {
	discover.Repeat(ctx, t.options.Rescan, func() (then func()) {
		t.finding.Lock()
		since, plan, err := t.look()
		return func() {
			defer t.finding.Unlock()
			if err == nil {
				t.attachMore(ctx, plan, since)
			}
		}
	})
}

// Rescan looks at once for what [Options.Rescan] looks for at intervals, and
// returns when it is attached to. held says that the processes have been stopped,
// or have waited, since before anything new could fire: what is found is not late
// then, see [Site.Late]. After the end of tracing it does nothing.
func (t *tracing) Rescan(held bool) error {
	t.finding.Lock()
	defer t.finding.Unlock()
	if t.over {
		return nil
	}
	since, plan, err := t.look()
	if err != nil {
		return err
	}
	if held {
		since = time.Time{}
	}
	t.attachMore(t.searching, plan, since)
	return nil
}

// look looks for sites. They have appeared since the time that it returns, at
// which what was found before was looked for.
func (t *tracing) look() (since time.Time, plan site.Plan, err error) {
	since, t.looked = t.looked, time.Now()
	if err := t.leaveStranded(); err != nil {
		return since, nil, err
	}
	if err := t.maps.selection.look(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return since, nil, err
	}
	found, err := t.discover.More(t.searching)
	plan = site.PlanOf(found)
	return since, plan, err
}

// attachMore attaches to what look has found, and leaves what is gone.
func (t *tracing) attachMore(ctx context.Context, plan site.Plan, since time.Time) {
	if again := t.recycle(); len(again) > 0 {
		t.sites.Store(t.sites.Load().without(again))
	}
	if len(plan) > 0 {
		t.extend(ctx, plan, since)
	}
	ended := append(t.discover.Ended, t.sharing.Leave(t.discover.Ended, t.procs)...)
	if err := t.attached.Retire(ended); err != nil {
		t.fail(err)
	}
	t.numbers.take(ended)
	if len(plan) > 0 || len(ended) > 0 {
		used := t.attached.Programs()
		t.mu.Lock()
		err := t.progs.prune(used)
		t.mu.Unlock()
		if err != nil {
			t.fail(err)
		}
	}
}

// endSearch returns when nothing is looked for any more.
func (t *tracing) endSearch() {
	t.watches.Wait()
	t.finding.Lock()
	t.over = true
	t.finding.Unlock()
}

// extend attaches to the sites of plan, too, which have appeared since a time,
// or cannot have fired if that is zero. What goes wrong is said there: those that
// were attached to before go on. When ctx is done, nothing has happened.
func (t *tracing) extend(ctx context.Context, plan site.Plan, since time.Time) {
	refuse := func(err error) {
		if context.Cause(ctx) != nil {
			return
		}
		plan.Refuse(err)
		t.attached.Adopt(site.Unattached(plan))
	}
	planner := newPlanner(t.options.Force)
	defer planner.Objects.Close()
	schemas, signatures, scratch, err := t.planLate(ctx, planner, plan)
	if err != nil {
		refuse(err)
		return
	}
	followers := t.share(plan, schemas, planner.Objects)
	numbers := t.numbers.give(plan, schemas, t.layout != nil)
	t.sites.Store(t.sites.Load().with(plan, schemas, numbers))
	m := *t.maps
	if err := m.addScratch(scratch); err != nil {
		refuse(err)
		return
	}
	if scratch > 0 {
		defer m.Scratch.Close() // the programs that use it hold it
	}
	refused, err := t.load(ctx, signatures, &m)
	if err == nil {
		err = leaveOut(plan, schemas, refused)
	}
	if err != nil {
		refuse(err)
		return
	}
	more, err := site.Attach(ctx, plan, t.groups(plan, schemas, followers, planner.Objects, numbers), t.kind)
	if err != nil {
		refuse(err)
		return
	}
	site.Follow(plan, followers)
	if !since.IsZero() {
		late := time.Since(since)
		for i := range plan {
			if plan[i].Attached {
				plan[i].Late = late
			}
		}
	}
	if err := t.attached.Adopt(more); err != nil {
		t.fail(err)
	}
}

// fail makes err the last error of Events.
func (t *tracing) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopErr = err
}

// planLate is plan for sites found later. The first of an aggregate decide what
// its groups are. Who reads events meanwhile is not kept from it: that takes
// t.mu, and to plan takes as long as the files that were found are large.
func (t *tracing) planLate(ctx context.Context, planner *plan.Planner, plan site.Plan) ([]*bind.Schema, []*codegen.Signature, int, error) {
	layout := t.layout.Clone() // only this goroutine changes the original
	schemas, err := t.plan(ctx, planner, plan, layout, nil)
	if err != nil {
		return nil, nil, 0, err
	}
	all := signaturesOf(schemas)
	signatures, scratch := t.unknown(all)
	m := *t.maps
	if layout != nil && !layout.Made && len(all) > 0 {
		err = m.addGroups(layout)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.maps = m
	if layout != nil {
		t.layout = layout
	}
	return schemas, signatures, scratch, err
}
