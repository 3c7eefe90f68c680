package attach

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/family"
	"github.com/go-usdt/usdt/attach/internal/naming"
	"github.com/go-usdt/usdt/attach/internal/numbering"
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

	sites   atomic.Pointer[numbering.Table]
	cancel  context.CancelFunc
	watches sync.WaitGroup

	standing atomic.Int32 // calls of RescanHeld: the processes stand still meanwhile

	finding  sync.Mutex // of what follows
	scanned  time.Time  // when the last scan for sites began
	before   time.Time  // and the one before
	over     bool       // sites are looked for no more
	expected            // of probes
	leaving  int        // parts of the plan whose links are being closed
	left     sync.WaitGroup

	// For finding and attaching to sites:
	options    *settings
	layout     *bind.Layout // nil to record events
	selectors  []selector.Selector
	discover   *discover.Search
	searching  context.Context // done when the search for sites ends
	procs      *process.Set
	family     *family.Family    // of PIDs with their children; nil without
	numbers    numbering.Numbers // of sites
	source     source.Source     // of records; nil if the kernel aggregates
	tally      *tally.Tally      // of records; nil if the kernel aggregates
	sides      []side
	programs   *programs                        // the side of the kernel; nil if it is none
	opened     chan struct{}                    // closed when the first sites have been attached to; nil if no side waits for it
	savedStack func(number uint64) *event.Stack // of recordings; nil without stacks
	code       *naming.Code                     // names that of stacks; nil if there are none
	losses     *source.Losses
	groups     *cgroups.Table    // names control groups; nil if nothing asks for them
	live       *cgroups.Live     // that are the kernel's; nil without
	groupTests []query.GroupTest // of the condition
	filter     tally.Filter      // of Spans

	received, unread atomic.Uint64
	added            atomic.Uint64 // the records that were taken to be added up
	handled          atomic.Uint64 // the records taken that their readers are done with

	mu     sync.Mutex // of what follows, and of the life of programs and their maps
	closed bool
	unfit  error // why nothing that has appeared can be traced as asked
	final  Stats
	cost   Cost                   // at the end
	pairs  PairStats              // as last counted
	faults map[query.Fault]uint64 // at the end

	late     uint64 // sites, see Stats
	lateness time.Duration

	failure failure

	create func(spec *ebpf.ProgramSpec, in []*query.Signature) (*ebpf.Program, error) // loads programs in tests
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
	if t.family != nil {
		t.watches.Go(func() {
			if err := t.family.Wait(ctx); err != nil {
				t.fail(err)
			}
			cancel()
		})
	} else if len(o.Target.PIDs) > 0 {
		var eg errgroup.Group
		for _, pid := range o.Target.PIDs {
			eg.Go(func() error {
				err := t.procs.Wait(ctx, pid)
				if p := t.programs; p != nil && (p.sharing != nil || p.inKernel()) && ctx.Err() == nil {
					p.maps.LeaveProcess(pid)
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
		if t.programs != nil {
			t.discover.Listen()
		}
		t.watches.Go(func() { t.rescan(ctx) })
	}
	if t.source != nil {
		t.watches.Go(func() { t.losses.Watch(ctx) })
	}
	if t.code != nil && len(o.Target.only()) == 0 {
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

// Members returns the table of the processes that [Target.Children] means, for programs of the
// caller's own: a hash, whose keys are PIDs of 4 bytes. It belongs to the session. nil without.
func (t *tracing) Members() *ebpf.Map {
	if t.family == nil {
		return nil
	}
	return t.family.Table
}

// Plan returns a copy of what was decided and done for every site until now, see
// [Attachment.Plan].
func (t *tracing) Plan() Plan {
	a := Attachment{t.attached}
	return a.Plan()
}

// Refused returns an error for each part of a file with code on stacks that could not be
// read: it says which frames or names are missing for it. In a session of the whole
// machine, Refused also names the processes that run a copy of their code, where no
// probe fires. It also names processes in which the kernel left out returns of calls that were
// nested too deeply.
func (t *tracing) Refused() (errs []error) {
	if t.code != nil {
		errs = t.code.Refused()
	}
	if t.discover != nil {
		errs = append(errs, t.discover.Copied()...)
	}
	if t.programs != nil {
		errs = append(errs, t.programs.leftOut()...)
	}
	return errs
}

// NoMatch returns an error for each selector that has named no site until now, the one of Open
// without [Options.Await]: it may say which name is near.
func (t *tracing) NoMatch() []error {
	t.finding.Lock()
	defer t.finding.Unlock()
	if t.discover == nil { // of recordings
		return nil
	}
	return t.discover.NoMatch()
}

// Sites yields sites as they are attached to, refused and left, see [Attachment.Sites].
func (t *tracing) Sites(ctx context.Context) iter.Seq2[Site, bool] {
	a := Attachment{t.attached}
	return a.Sites(ctx)
}

// Pending returns the number of perf events that the kernel has yet to remove
// after Close, see [Attachment.Pending].
func (t *tracing) Pending() int { return t.attached.Pending() }

// Wait waits after Close until nothing is pending, or until ctx is done, see
// [Attachment.Wait].
func (t *tracing) Wait(ctx context.Context) error { return t.attached.Wait(ctx) }

// closeCode frees the names of code: what they wait for may need t.mu, so they are closed without
// it.
func (t *tracing) closeCode() { t.code.Close() }

// release frees everything else.
func (t *tracing) release() {
	if t.losses != nil {
		t.losses.Close()
	}
	for _, side := range t.sides {
		side.Close()
	}
	if t.procs != nil {
		t.procs.Close()
	}
	if t.family != nil {
		t.family.Close()
	}
	t.live.Close()
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
