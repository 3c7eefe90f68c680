package attach

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/attach/internal/tally"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/selector"
)

// tracing is what Session and Aggregate have in common: generated programs
// attached to sites, and their counters.
type tracing struct {
	attached *site.Attachment

	maps    *load.Maps
	sites   atomic.Pointer[siteTable]
	cancel  context.CancelFunc
	watches sync.WaitGroup

	finding sync.Mutex // of what follows
	scanned time.Time  // for sites, when it began
	over    bool       // sites are looked for no more

	// For finding and attaching to sites:
	options    *settings
	kind       link.Kind
	layout     *bind.Layout // nil to record events
	selectors  []selector.Selector
	discover   *discover.Search
	searching  context.Context // done when the search for sites ends
	procs      *process.Set
	sharing    *site.Sharing                    // of links by processes; nil if they are few
	numbers    numbering                        // of sites
	source     source.Source                    // of records; nil if the kernel aggregates
	tally      *tally.Tally                     // of records; nil if the kernel aggregates
	sides      []side                           // beside the kernel
	opened     chan struct{}                    // closed when the first sites have been attached to; nil if no side waits for it
	savedStack func(number uint64) *event.Stack // of recordings; nil without stacks
	code       *naming.Code                     // names that of stacks; nil if there are none
	losses     *source.Losses
	filter     tally.Filter // of Spans

	received, unread atomic.Uint64
	added            atomic.Uint64 // the records that were taken to be added up
	handled          atomic.Uint64 // the records taken that their readers are done with

	mu     sync.Mutex // of what follows, and of the life of maps and progs
	progs  load.Programs
	closed bool
	final  Stats
	cost   Cost                   // at the end
	pairs  PairStats              // as last counted
	faults map[query.Fault]uint64 // at the end

	failure failure
}

// failure is why tracing has ended early. Its lock is the innermost one: sources fail in any
// of their methods, which are called with others held.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
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
				t.fail(err) // why tracing ends before the processes
			}
			cancel()
		})
	}
	if o.Rescan > 0 {
		t.searching = ctx
		t.watches.Go(func() { t.rescan(ctx) })
		if o.Target.Comm != "" && t.maps != nil {
			t.watches.Go(func() { t.watchNamed(ctx) })
		}
	}
	if t.source != nil {
		t.watches.Go(func() { t.losses.Watch(ctx) })
	}
	if t.code != nil && len(o.Target.PIDs) == 0 {
		having := map[int]bool{} // probes, and perhaps for no longer than until the first event
		t.attached.LookAt(0, func(sites site.Plan) {
			for i := range sites {
				if live := sites[i].Probe.Live; live != nil {
					having[live.PID] = true
				}
			}
		})
		t.code.Aside(func() { t.code.Meet(ctx, having) })
	}
	t.watches.Go(func() {
		<-ctx.Done()
		if err := stop(); err != nil {
			t.fail(err)
		}
	})
	if t.opened != nil {
		close(t.opened) // who waits for it looks for sites
	}
}

// Via returns the way by which events come: [Target.Via] or, if that is ViaAny, the way
// that was chosen.
func (t *tracing) Via() Via { return t.options.Target.Via }

// Plan returns a copy of what was decided and done for every site until now, see
// [Attachment.Plan].
func (t *tracing) Plan() Plan {
	plan, _ := t.PlanSince(0)
	return plan
}

// Refused returns an error for each part of a file with code on stacks that could not be
// read: it says which frames or names are missing for it. In a session of the whole
// machine, Refused also names the processes that run a copy of their code, where no
// probe fires.
func (t *tracing) Refused() (errs []error) {
	if t.code != nil {
		errs = t.code.Refused()
	}
	if t.discover != nil {
		errs = append(errs, t.discover.Copied()...)
	}
	return errs
}

// PlanSince is Plan for new sites, see [Attachment.PlanSince].
func (t *tracing) PlanSince(n int) (Plan, int) {
	a := Attachment{t.attached}
	return a.PlanSince(n)
}

// Pending returns the number of perf events that the kernel has yet to remove
// after Close, see [Attachment.Pending].
func (t *tracing) Pending() int { return t.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done, see
// [Attachment.Wait].
func (t *tracing) Wait(ctx context.Context) error { return t.attached.Wait(ctx) }

// release frees everything but the names of code: what those wait for may need t.mu, so they
// are closed without it.
func (t *tracing) release() {
	if t.losses != nil {
		t.losses.Close()
	}
	for _, side := range t.sides {
		side.Close()
	}
	t.progs.Close()
	if t.maps != nil {
		t.maps.Close()
	}
	if t.procs != nil {
		t.procs.Close()
	}
}

// taken returns the number of records that were taken from the source.
func (t *tracing) taken() uint64 {
	if t.layout != nil {
		return t.added.Load()
	}
	return t.received.Load()
}

// fail makes err the last error of Events.
func (t *tracing) fail(err error) {
	t.failure.mu.Lock()
	defer t.failure.mu.Unlock()
	t.failure.err = err
}
