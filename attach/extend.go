package attach

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/plan"
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
	plan = plan.AtReturns(planner)
	b := &batch{plan: plan, objects: planner.Objects}
	scratch, err := t.planMore(ctx, planner, b)
	if err != nil {
		refuse(err)
		return
	}
	if err := t.unmet(plan, b.schemas, t.layout); err != nil {
		refuse(err)
		t.giveUp(err)
		return
	}
	t.number(b)
	if t.fitsTogether != nil {
		if err := t.fitsTogether(t.sites.Load()); err != nil {
			refuse(err)
			t.giveUp(err)
			return
		}
	}
	t.watchSides(ctx, b)
	t.begunSides()
	var more *site.Attachment
	if t.programs != nil {
		if more, since, err = t.programs.attachMore(ctx, b, scratch, since); err != nil {
			refuse(err)
			return
		}
	} else {
		t.losses.Unseen(t.losses.Time(), t.lateProcesses(plan, since))
		more = site.Unattached(plan)
	}
	t.noteLate(plan, since)
	if err := t.attached.Adopt(t.dropWithdrawn(more)); err != nil {
		t.fail(err)
	}
}

// attachMore attaches to sites of a batch, and returns since when they may have fired unseen: never
// if their processes stand still when it has attached to them. Their programs take scratch bytes of
// memory.
func (p *programs) attachMore(ctx context.Context, b *batch, scratch int, since time.Time) (*site.Attachment, time.Time, error) {
	m := *p.maps
	m.Calls = p.callFunctions
	if err := m.AddScratch(scratch); err != nil {
		return nil, since, err
	}
	if scratch > 0 {
		defer m.Scratch.Close() // the programs that use the map hold it
	}
	if p.together() {
		var err error
		if m.Gate, err = load.NewSwitch(true); err != nil {
			return nil, since, err
		}
		defer m.Gate.Close() // the programs that use it hold it
	}
	if err := p.load(ctx, b, &m); err != nil {
		return nil, since, err
	}
	p.attached.Left(b.plan)
	p.watchReturns(b.plan)
	more, err := site.Attach(ctx, b.plan, p.groups(b), p.kind)
	if err != nil {
		return nil, since, err
	}
	if p.standing.Load() > 0 {
		since = time.Time{}
	}
	if m.Gate != nil {
		if err := p.begin(&m, b.plan, since); err != nil {
			p.fail(err)
		}
	}
	p.sharing.Follow(b.plan, b.followers)
	return more, since, nil
}

// begin has the programs of sites that were found later begin. In processes where such sites may
// have fired before, starts from before are left out: an end may be that of another one, which
// nobody saw. Which processes these are is known a moment after the programs have begun. Until
// then, no start from before has an end at these sites.
func (p *programs) begin(m *load.Maps, plan site.Plan, since time.Time) error {
	if since.IsZero() {
		return load.Turn(m.Gate, 0, 0)
	}
	err := load.Turn(m.Gate, 0, math.MaxUint64)
	began := p.losses.Time()
	err = errors.Join(err, load.Turn(m.Gate, 0, began))
	pids := p.lateProcesses(plan, since)
	p.losses.Unseen(began, pids)
	if p.layout != nil && p.layout.Pairs != nil {
		err = errors.Join(err, p.maps.ForgetStarts(p.layout.Pairs, pids, began))
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
func (t *tracing) noteLate(plan site.Plan, since time.Time) {
	if since.IsZero() {
		return
	}
	delay := time.Since(since)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range plan {
		if plan[i].Attached {
			plan[i].Late = delay
			t.late, t.lateness = t.late+1, max(t.lateness, delay)
		}
	}
}

// planMore is plan for a batch of sites found later, and returns the size of the scratch memory that
// their programs need. The first sites of an aggregate decide the layout of its groups. planMore
// does not hold t.mu, which readers of events need: planning large files takes long.
func (t *tracing) planMore(ctx context.Context, planner *plan.Planner, b *batch) (scratch int, err error) {
	layout := t.layout.Clone() // only this goroutine changes the original
	if b.schemas, err = t.plan(ctx, planner, b.plan, layout, t.used); err != nil {
		return 0, err
	}
	var m load.Maps
	if t.programs != nil {
		if err = t.programs.joinCalls(b); err != nil {
			return 0, err
		}
		b.signatures, scratch = t.programs.unknown(b.different())
		m = *t.programs.maps
	}
	if layout != nil && !layout.Made && bound(b.schemas) {
		err = t.addGroups(&m, layout, b.schemas)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.programs != nil {
		t.programs.maps.AdoptGroups(&m)
	}
	if layout != nil {
		t.layout = layout
	}
	return scratch, err
}
