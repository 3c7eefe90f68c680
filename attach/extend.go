package attach

import (
	"context"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// extend attaches to the sites of plan, too, which have appeared since a time,
// or cannot have fired if since is zero. It reports errors in plan; sites
// attached to before go on. When ctx is done, extend does nothing.
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
	schemas, signatures, scratch, err := t.planMore(ctx, planner, plan)
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
		defer m.Scratch.Close() // the programs that use the map hold it
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
		delay := time.Since(since)
		for i := range plan {
			if plan[i].Attached {
				plan[i].Late = delay
			}
		}
	}
	if err := t.attached.Adopt(more); err != nil {
		t.fail(err)
	}
}

// planMore is plan for sites found later. The first sites of an aggregate decide
// the layout of its groups. planMore does not hold t.mu, which readers of events
// need: planning large files takes long.
func (t *tracing) planMore(ctx context.Context, planner *plan.Planner, plan site.Plan) ([]*bind.Schema, []*codegen.Signature, int, error) {
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
