package attach

import (
	"context"
	"time"
)

// rescanShare bounds the time spent on looking for probes: for one second of
// it there are this many without.
const rescanShare = 20

// rescan attaches to sites that appear, until ctx is done.
func (t *tracing) rescan(ctx context.Context) {
	repeat(ctx, t.options.Rescan, func() (then func()) {
		plan, err := t.discover.more()
		return func() {
			if err == nil && len(plan) > 0 {
				t.extend(plan)
			}
			if err := t.attached.retire(t.discover.ended); err != nil {
				t.fail(err)
			}
		}
	})
}

// repeat calls look at intervals, until ctx is done, and what it returns, whose
// time does not count: to attach and detach is to wait for the kernel.
func repeat(ctx context.Context, every time.Duration, look func() (then func())) {
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		then := look()
		took := time.Since(start)
		then()
		timer.Reset(max(every, rescanShare*took))
	}
}

// extend attaches to the sites of plan, too. What goes wrong is said there:
// those that were attached to before go on.
func (t *tracing) extend(plan Plan) {
	refuse := func(err error) {
		for i := range plan {
			if plan[i].Reason == nil {
				plan[i].Reason = err
			}
		}
		t.attached.adopt(unattached(plan))
	}
	planner := newPlanner(t.options.Force)
	defer planner.objects.Close()
	schemas, signatures, scratch, err := t.planLate(planner, plan)
	if err != nil {
		refuse(err)
		return
	}
	base := len(t.sites.Load().probes)
	t.sites.Store(t.sites.Load().with(plan, schemas))
	m := *t.maps
	if err := m.addScratch(scratch); err != nil {
		refuse(err)
		return
	}
	if scratch > 0 {
		t.mu.Lock()
		t.scratch = append(t.scratch, m.scratch)
		t.mu.Unlock()
	}
	if err := t.load(signatures, &m); err != nil {
		refuse(err)
		return
	}
	more, err := newAttachment(plan, t.groups(plan, schemas, planner.objects, base), t.kind)
	if err != nil {
		refuse(err)
		return
	}
	if err := t.attached.adopt(more); err != nil {
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
// its groups are.
func (t *tracing) planLate(planner *planner, plan Plan) ([]*schema, []*signature, int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	schemas, err := t.plan(planner, plan, true)
	if err != nil {
		return nil, nil, 0, err
	}
	all := signaturesOf(schemas)
	signatures, scratch := t.unknown(all)
	if t.layout != nil && !t.layout.made && len(all) > 0 {
		err = t.layout.newMaps(t.maps)
	}
	return schemas, signatures, scratch, err
}
