package attach

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// rescan attaches to sites that appear, until ctx is done.
func (t *tracing) rescan(ctx context.Context) {
	discover.Repeat(ctx, t.options.Rescan, func() (then func()) {
		t.finding.Lock()
		found, err := t.scan()
		return func() {
			defer t.finding.Unlock()
			if err == nil {
				t.attachMore(ctx, found)
			}
		}
	})
}

// Rescan looks at once for the probes that [Options.Rescan] looks for at
// intervals, attaches to them and returns. After the end of tracing Rescan does nothing.
func (t *tracing) Rescan() error { return t.rescanNow(false) }

// RescanHeld is Rescan for processes that have been stopped, or have waited, since before
// anything new could fire: sites found are not late then, see [Site.Late].
func (t *tracing) RescanHeld() error { return t.rescanNow(true) }

func (t *tracing) rescanNow(held bool) error {
	t.finding.Lock()
	defer t.finding.Unlock()
	if t.over {
		return nil
	}
	found, err := t.scan()
	if context.Cause(t.searching) != nil {
		return nil // tracing ends
	}
	t.code.Refresh(t.searching)
	if err != nil {
		return err
	}
	if held {
		found.since = time.Time{}
	}
	t.attachMore(t.searching, found)
	return nil
}

// scanned is what a scan has found.
type scanned struct {
	plan     site.Plan        // new sites
	since    time.Time        // the previous scan: they have appeared later; zero if they cannot have fired
	stranded []discover.Owner // of sites that are found anew
}

// scan looks for sites.
func (t *tracing) scan() (found scanned, err error) {
	found.since, t.scanned = t.scanned, time.Now()
	if t.maps != nil {
		if t.sharing == nil {
			found.stranded = t.attached.Stranded(t.kind, t.procs, t.discover)
		}
		if err := t.maps.Selection.Refresh(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return found, err
		}
	}
	for _, side := range t.sides {
		anew, any, err := side.Scan(t.discover)
		found.stranded = append(found.stranded, anew...)
		if err != nil || !any {
			return found, err
		}
	}
	sites, err := t.discover.More(t.searching)
	found.plan = site.PlanOf(sites)
	return found, err
}

// attachMore attaches to the sites that scan found, and leaves sites that are gone.
func (t *tracing) attachMore(ctx context.Context, found scanned) {
	if err := t.attached.Retire(found.stranded); err != nil {
		t.fail(err)
	}
	t.numbers.take(found.stranded)
	plan := found.plan
	if again := t.recycle(); len(again) > 0 {
		t.sites.Store(t.sites.Load().without(again))
	}
	if len(plan) > 0 {
		t.extend(ctx, plan, found.since)
	}
	ended := append(t.discover.Ended, t.sharing.Leave(t.discover.Ended, t.procs)...)
	for _, side := range t.sides {
		side.Leave(ended)
	}
	if err := t.attached.Retire(ended); err != nil {
		t.fail(err)
	}
	t.numbers.take(ended)
	if len(plan) > 0 || len(ended) > 0 {
		used := t.attached.Programs()
		t.mu.Lock()
		err := t.progs.Prune(used)
		t.mu.Unlock()
		if err != nil {
			t.fail(err)
		}
	}
}

// endSearch ends the search for sites, and returns when it has ended.
func (t *tracing) endSearch() {
	t.watches.Wait()
	t.finding.Lock()
	t.over = true
	t.finding.Unlock()
}
