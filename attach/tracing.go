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
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/selector"
)

// tracing is what Session and Aggregate have in common: generated programs
// attached to sites, and their counters.
type tracing struct {
	attached *site.Attachment

	maps    *maps
	sites   atomic.Pointer[siteTable]
	cancel  context.CancelFunc
	watches sync.WaitGroup

	finding sync.Mutex // of what follows
	scanned time.Time  // for sites, when it began
	over    bool       // sites are looked for no more

	// For finding and attaching to sites:
	options   *settings
	kind      link.Kind
	layout    *bind.Layout // nil to record events
	selectors []selector.Selector
	discover  *discover.Search
	searching context.Context // done when the search for sites ends
	procs     *process.Set
	sharing   *site.Sharing // of links by processes; nil if they are few
	numbers   numbering     // of sites
	source    source        // of records; nil of an aggregate

	received, unread atomic.Uint64
	handled          atomic.Uint64 // the received events that readers are done with

	mu      sync.Mutex // of what follows, and of the life of maps and progs
	progs   programs
	closed  bool
	final   Stats
	pairs   PairStats // as last counted
	stopErr error
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
	}
	t.watches.Go(func() {
		<-ctx.Done()
		if err := stop(); err != nil {
			t.fail(err)
		}
	})
}

// Plan returns a copy of what was decided and done for every site until now, see
// [Attachment.Plan].
func (t *tracing) Plan() Plan { return handOut(t.attached.Plan()) }

// PlanSince is Plan for new sites, see [Attachment.PlanSince].
func (t *tracing) PlanSince(n int) (Plan, int) {
	plan, known := t.attached.PlanSince(n)
	return handOut(plan), known
}

// Pending returns the number of perf events that the kernel has yet to remove
// after Close, see [Attachment.Pending].
func (t *tracing) Pending() int { return t.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done, see
// [Attachment.Wait].
func (t *tracing) Wait(ctx context.Context) error { return t.attached.Wait(ctx) }

func (t *tracing) release() {
	t.progs.Close()
	if t.maps != nil {
		t.maps.Close()
	}
	if t.procs != nil {
		t.procs.Close()
	}
}

// fail makes err the last error of Events.
func (t *tracing) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopErr = err
}
