package attach

import (
	"context"
	"time"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// rescan attaches to sites that appear, until ctx is done.
func (t *tracing) rescan(ctx context.Context) {
	t.discover.Follow(ctx, t.options.Rescan, func(look discover.Look, since time.Time) (then func()) {
		t.finding.Lock()
		found, err := t.scan(look, since)
		return func() {
			defer t.finding.Unlock()
			if err != nil {
				t.leave(found.stranded) // the next scan finds their sites
				return
			}
			t.attachMore(ctx, found)
		}
	})
}

// Rescan looks at once for the probes that [Options.Rescan] looks for at
// intervals, attaches to them and returns. After the end of tracing Rescan does nothing.
func (t *tracing) Rescan() error { return t.rescanNow(false) }

// RescanHeld is Rescan for processes that have been stopped, or have waited, since before
// anything new could fire: sites found are not late then, see [Site.Late].
func (t *tracing) RescanHeld() error {
	t.standing.Add(1) // a scan that ends meanwhile has found sites of the same kind
	defer t.standing.Add(-1)
	return t.rescanNow(true)
}

func (t *tracing) rescanNow(held bool) error {
	t.finding.Lock()
	defer t.finding.Unlock()
	if t.over {
		return nil
	}
	found, err := t.scan(t.discover.More, time.Time{})
	if context.Cause(t.searching) != nil {
		return nil // tracing ends
	}
	t.code.Refresh(t.searching)
	if err != nil {
		t.leave(found.stranded)
		return err
	}
	if held {
		found.since = time.Time{}
	}
	t.attachMore(t.searching, found)
	if held && len(found.stranded) > 0 {
		t.attached.AllLeft() // before who is held maps files in which breakpoints would harm it
	}
	return nil
}

// scanned is what a scan has found.
type scanned struct {
	plan     site.Plan        // new sites
	since    time.Time        // the previous scan: they have appeared later; zero if they cannot have fired
	stranded []discover.Owner // of sites that are found anew
}

// scan looks for sites. since is when they may have fired first; zero if look looks everywhere.
func (t *tracing) scan(look discover.Look, since time.Time) (found scanned, err error) {
	if !since.IsZero() {
		found.since = since
		if t.programs != nil { // a process that maps files may have executed its program in another thread
			if found.stranded, _, err = t.programs.Scan(t.discover); err != nil {
				return found, err
			}
		}
		sites, err := look(t.searching)
		found.plan = site.PlanOf(sites)
		return found, err
	}
	if !t.discover.Halfway() {
		t.before, t.scanned = t.scanned, time.Now()
	}
	found.since = t.before
	for _, side := range t.sides {
		anew, any, err := side.Scan(t.discover)
		found.stranded = append(found.stranded, anew...)
		if err != nil || !any {
			return found, err
		}
	}
	sites, err := look(t.searching)
	found.plan = site.PlanOf(sites)
	return found, err
}

// attachMore attaches to the sites that scan found, and leaves sites that are gone.
func (t *tracing) attachMore(ctx context.Context, found scanned) {
	t.leave(found.stranded)
	plan := found.plan
	if again := t.recycled(); len(again) > 0 {
		t.sites.Store(t.sites.Load().Without(again))
	}
	if len(plan) > 0 {
		t.extend(ctx, plan, found.since)
	}
	ended := t.discover.Ended
	if p := t.programs; p != nil {
		ended = append(ended, p.sharing.Leave(ended, t.procs)...)
	}
	for _, side := range t.sides {
		side.Leave(ended)
	}
	t.leave(ended)
	if len(plan) > 0 {
		t.prune()
	}
}

// leave leaves the sites of files and processes. Their links are closed beside the search.
func (t *tracing) leave(ended []discover.Owner) {
	if len(ended) == 0 {
		return
	}
	t.left.Add(1)
	t.leaving++
	numbers := t.numbers.Take(ended) // before sites are found there again
	t.attached.Leave(ended, func(err error) {
		defer t.left.Done()
		t.finding.Lock()
		defer t.finding.Unlock()
		t.leaving--
		t.numbers.Left(numbers)
		t.prune()
		if err != nil {
			t.fail(err)
		}
	})
}

// prune closes the programs that have no link. While links are closed, their programs may run.
func (t *tracing) prune() {
	if t.leaving > 0 || t.programs == nil {
		return
	}
	if err := t.programs.prune(); err != nil {
		t.fail(err)
	}
}

// endSearch ends the search for sites, and returns when it has ended.
func (t *tracing) endSearch() {
	t.watches.Wait()
	t.finding.Lock()
	t.over = true
	t.finding.Unlock()
	t.left.Wait()
}

// recycled returns the numbers that no site has any more.
func (t *tracing) recycled() []int {
	if t.source == nil {
		return nil
	}
	return t.numbers.Recycle(func() bool { return t.taken() == t.handled.Load() }, func() bool { return !t.source.Available() })
}
