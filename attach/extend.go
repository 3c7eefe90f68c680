package attach

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/procfs"
)

// extend also attaches to the sites of plan, which have appeared since a time, or
// cannot have fired if since is zero. It reports errors in plan; sites attached to
// before go on. When ctx is done, extend does nothing.
func (t *tracing) extend(ctx context.Context, plan site.Plan, since time.Time) {
	refuse := func(err error) {
		if context.Cause(ctx) != nil {
			return
		}
		plan.Refuse(err)
		t.attached.Adopt(t.dropWithdrawn(site.Unattached(plan)))
	}
	claimed, err := t.claim(ctx, plan, t.discover.Forget)
	if err != nil {
		refuse(err)
		return
	}
	if plan = claimed; len(plan) == 0 {
		return
	}
	planner := newPlanner(t.options.Force)
	defer planner.Objects.Close()
	schemas, signatures, scratch, err := t.planMore(ctx, planner, plan)
	if err != nil {
		refuse(err)
		return
	}
	followers := t.share(plan, schemas, planner.Objects)
	numbers, inKeys := t.give(plan, schemas)
	t.sites.Store(t.sites.Load().with(plan, schemas, numbers, inKeys))
	t.watchSides(ctx, plan, schemas, numbers)
	t.begunSides()
	if t.maps == nil {
		t.losses.Unseen(t.losses.Time(), t.lateProcesses(plan, since))
		noteLate(plan, since)
		t.attached.Adopt(t.dropWithdrawn(site.Unattached(plan)))
		return
	}
	m := *t.maps
	if err := m.AddScratch(scratch); err != nil {
		refuse(err)
		return
	}
	if scratch > 0 {
		defer m.Scratch.Close() // the programs that use the map hold it
	}
	if t.together() {
		if m.Gate, err = load.NewSwitch(true); err != nil {
			refuse(err)
			return
		}
		defer m.Gate.Close() // the programs that use it hold it
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
	if m.Gate != nil {
		if err := t.begin(&m, plan, since); err != nil {
			t.fail(err)
		}
	}
	t.sharing.Follow(plan, followers)
	noteLate(plan, since)
	if err := t.attached.Adopt(t.dropWithdrawn(more)); err != nil {
		t.fail(err)
	}
}

// begin has the programs of sites that were found later begin. In processes where such sites may
// have fired before, starts from before are left out: an end may be that of another one, which
// nobody saw. Which processes these are is known a moment after the programs have begun. Until
// then, no start from before has an end at these sites.
func (t *tracing) begin(m *load.Maps, plan site.Plan, since time.Time) error {
	if since.IsZero() {
		return load.Turn(m.Gate, 0, 0)
	}
	err := load.Turn(m.Gate, 0, math.MaxUint64)
	began := t.losses.Time()
	err = errors.Join(err, load.Turn(m.Gate, 0, began))
	pids := t.lateProcesses(plan, since)
	t.losses.Unseen(began, pids)
	if t.layout != nil && t.layout.Pairs != nil {
		err = errors.Join(err, t.maps.ForgetStarts(t.layout.Pairs, pids, began))
	}
	return errors.Join(err, load.Turn(m.Gate, 0, 0))
}

// lateProcesses returns the processes that have sites of a plan, unless these cannot have fired.
func (t *tracing) lateProcesses(plan site.Plan, since time.Time) (pids []int) {
	if since.IsZero() {
		return nil
	}
	files := map[procfs.ID]bool{}
	for i := range plan {
		s := &plan[i]
		if s.Reason != nil {
			continue
		}
		pid := s.Process()
		if live := s.Probe.Live; pid == 0 && live != nil {
			pid = live.PID
		}
		if pid == 0 {
			files[s.File()] = true
		} else if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	if len(files) > 0 {
		pids = append(pids, t.discover.Users(files)...)
	}
	return pids
}

// noteLate notes how long sites may have fired unseen, unless since is zero.
func noteLate(plan site.Plan, since time.Time) {
	if since.IsZero() {
		return
	}
	delay := time.Since(since)
	for i := range plan {
		if plan[i].Attached {
			plan[i].Late = delay
		}
	}
}

// planMore is plan for sites found later. The first sites of an aggregate decide
// the layout of its groups. planMore does not hold t.mu, which readers of events
// need: planning large files takes long.
func (t *tracing) planMore(ctx context.Context, planner *plan.Planner, plan site.Plan) ([]*bind.Schema, []*query.Signature, int, error) {
	layout := t.layout.Clone() // only this goroutine changes the original
	schemas, err := t.plan(ctx, planner, plan, layout, nil)
	if err != nil {
		return nil, nil, 0, err
	}
	signatures, scratch := t.unknown(signaturesOf(plan, schemas))
	var m load.Maps
	if t.maps != nil {
		m = *t.maps
	}
	if layout != nil && !layout.Made && bound(schemas) {
		err = t.addGroups(&m, layout, schemas)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.maps != nil {
		t.maps.AdoptGroups(&m)
	}
	if layout != nil {
		t.layout = layout
	}
	return schemas, signatures, scratch, err
}
