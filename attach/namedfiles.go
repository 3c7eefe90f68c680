package attach

import (
	"context"
	"time"

	"github.com/go-usdt/usdt/attach/internal/maplog"
	"github.com/go-usdt/usdt/attach/internal/site"
)

// watchNamed attaches soon to what processes called Comm map, until ctx is done: they may end
// before a rescan. Where the kernel does not tell this process, rescans must do.
func (t *tracing) watchNamed(ctx context.Context) {
	log, err := maplog.Open(nil)
	if err != nil {
		return
	}
	log.Name(t.options.Target.Comm)
	log.Follow(func(int) {
		if paths := log.Named(); len(paths) > 0 {
			t.attachNamed(ctx, paths)
		}
	})
	<-ctx.Done()
	log.Close()
}

// attachNamed attaches to files that processes have mapped.
func (t *tracing) attachNamed(ctx context.Context, paths []string) {
	t.finding.Lock()
	defer t.finding.Unlock()
	since := time.Now()
	if t.over {
		return
	}
	if sites, err := t.discover.MoreIn(ctx, paths); err == nil {
		t.attachMore(ctx, scanned{plan: site.PlanOf(sites), since: since})
	}
}
