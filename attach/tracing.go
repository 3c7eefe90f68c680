package attach

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"golang.org/x/sync/errgroup"
)

// Stats are the numbers of events of a session. While it is attached they are
// a snapshot; afterwards Fired = Received + Lost + Filtered + Missed holds
// exactly as soon as Events has ended or Close was called.
type Stats struct {
	Fired    uint64 // by all attached sites
	Received uint64 // delivered by Events, or counted in the groups that Read returned
	Lost     uint64 // dropped: the ring buffer or the groups were full, or an argument to aggregate was not to be had
	Filtered uint64 // not wanted; among them those that nobody asked for any more
	Missed   uint64 // suppressed by the kernel to prevent recursion
}

// tracing is what a Session and an Aggregate have in common: generated programs
// attached to sites, and their counters.
type tracing struct {
	*Attachment

	maps    *maps
	progs   []*ebpf.Program
	schemas []*schema // by site
	cancel  context.CancelFunc
	watches sync.WaitGroup

	received, dropped atomic.Uint64

	mu      sync.Mutex // of what follows, and of the life of maps and progs
	closed  bool
	final   Stats
	stopErr error
}

// attach plans, generates and attaches. prepared is called with the maps before
// the first event can fire. agg is nil to record events.
func (t *tracing) attach(plan Plan, o *Options, agg *Aggregation, prepared func(*maps) error) (*aggregateLayout, error) {
	planner := newPlanner(o.Force)
	defer planner.objects.Close()
	for i := range plan {
		planner.plan(&plan[i])
	}
	kind, err := chooseLink(o.Link, len(o.PIDs) > 0)
	if err != nil {
		return nil, err
	}
	b := &binder{maxString: uint32(o.MaxString), strings: o.Strings, where: o.condition, objects: planner.objects}
	if agg != nil {
		b.aggregate = &aggregateLayout{wanted: *agg}
	}
	if err := t.bind(plan, b); err != nil {
		return nil, err
	}
	groups, err := t.load(plan, kind, o, b.aggregate)
	if err != nil {
		return nil, err
	}
	if err := prepared(t.maps); err != nil {
		return nil, err
	}
	t.Attachment, err = newAttachment(plan, groups, kind)
	return b.aggregate, err
}

// bind decides what is read at every site that is not refused.
func (t *tracing) bind(plan Plan, b *binder) error {
	t.schemas = make([]*schema, len(plan))
	shared := map[string]*signature{}
	for i := range plan {
		if plan[i].Reason != nil {
			continue
		}
		sc, err := b.bind(&plan[i])
		if err != nil {
			return err
		}
		if t.schemas[i] = sc; sc.shared {
			continue
		}
		key := sc.sig.key()
		if same := shared[key]; same != nil {
			sc.sig = same
		} else {
			shared[key] = sc.sig
		}
	}
	return nil
}

// load creates maps and programs, and groups the sites by link.
func (t *tracing) load(plan Plan, kind LinkKind, o *Options, layout *aggregateLayout) ([]*group, error) {
	typ := ebpf.AttachNone
	if kind == MultiLink {
		typ = ebpf.AttachTraceUprobeMulti
	}
	var signatures []*signature
	scratch := 0
	seen := map[*signature]bool{}
	for _, sc := range t.schemas {
		if sc == nil || seen[sc.sig] {
			continue
		}
		seen[sc.sig] = true
		signatures = append(signatures, sc.sig)
		if sc.sig.needsScratch() {
			scratch = max(scratch, sc.sig.scratchSize(sc.sig.stringLimit()))
		}
	}
	var err error
	if t.maps, err = newMaps(o.RingSize, scratch, layout); err != nil {
		return nil, privileges("prepare tracing", err)
	}
	specs, forms := programSpecs(signatures, t.maps, typ, canSleep())
	for _, spec := range specs {
		prog, err := ebpf.NewProgram(spec)
		if err != nil {
			return nil, privileges("load the programs that read arguments", err)
		}
		t.progs = append(t.progs, prog)
	}
	var groups grouper
	for i := range plan {
		if sc := t.schemas[i]; sc != nil {
			f := forms[sc.sig]
			groups.add(&plan[i], t.progs[f.program], f.cookie(i))
		}
	}
	return groups.all, nil
}

// watch calls stop when the context is done or all processes have ended.
func (t *tracing) watch(o *Options, stop func() error) {
	ctx, cancel := context.WithCancel(o.Context)
	t.cancel = cancel
	if len(o.PIDs) > 0 {
		var eg errgroup.Group
		for _, pid := range o.PIDs {
			eg.Go(func() error { return waitExit(ctx, pid) })
		}
		t.watches.Go(func() {
			eg.Wait()
			cancel()
		})
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
	st := Stats{Received: t.received.Load()}
	fired, lost, filtered, err := t.maps.count()
	if err != nil {
		return st, err
	}
	for _, p := range t.progs {
		ps, err := p.Stats()
		if err != nil {
			return st, fmt.Errorf("ask for missed events: %w", err)
		}
		st.Missed += ps.RecursionMisses
	}
	st.Fired, st.Lost, st.Filtered = fired+st.Missed, lost, filtered+t.dropped.Load()
	return st, nil
}

// finishLocked fixes the statistics before maps and programs are released.
func (t *tracing) finishLocked() error {
	st, err := t.countLocked()
	t.final, t.closed = st, true
	return err
}

func (t *tracing) release() {
	for _, p := range t.progs {
		p.Close()
	}
	if t.maps != nil {
		t.maps.Close()
	}
}
