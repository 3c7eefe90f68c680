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
		since, plan, err := t.scan()
		return func() {
			defer t.finding.Unlock()
			if err == nil {
				t.attachMore(ctx, plan, since)
			}
		}
	})
}

// Rescan looks at once for the probes that [Options.Rescan] looks for at
// intervals, attaches to them and returns. held says that the processes have been
// stopped, or have waited, since before anything new could fire: sites found are
// not late then, see [Site.Late]. After the end of tracing Rescan does nothing.
func (t *tracing) Rescan(held bool) error {
	t.finding.Lock()
	defer t.finding.Unlock()
	if t.over {
		return nil
	}
	since, plan, err := t.scan()
	if err != nil {
		return err
	}
	if held {
		since = time.Time{}
	}
	t.attachMore(t.searching, plan, since)
	return nil
}

// scan looks for sites, and returns the time of the previous scan: new sites have
// appeared since.
func (t *tracing) scan() (since time.Time, plan site.Plan, err error) {
	since, t.scanned = t.scanned, time.Now()
	if err := t.leaveStranded(); err != nil {
		return since, nil, err
	}
	if err := t.maps.selection.refresh(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return since, nil, err
	}
	found, err := t.discover.More(t.searching)
	plan = site.PlanOf(found)
	return since, plan, err
}

// attachMore attaches to the sites that scan found, and leaves those that are
// gone.
func (t *tracing) attachMore(ctx context.Context, plan site.Plan, since time.Time) {
	if again := t.recycle(); len(again) > 0 {
		t.sites.Store(t.sites.Load().without(again))
	}
	if len(plan) > 0 {
		t.extend(ctx, plan, since)
	}
	ended := append(t.discover.Ended, t.sharing.Leave(t.discover.Ended, t.procs)...)
	if err := t.attached.Retire(ended); err != nil {
		t.fail(err)
	}
	t.numbers.take(ended)
	if len(plan) > 0 || len(ended) > 0 {
		used := t.attached.Programs()
		t.mu.Lock()
		err := t.progs.prune(used)
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
