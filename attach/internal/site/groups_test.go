package site

import (
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/plan"
	"github.com/go-usdt/usdt/reader"
)

// TestPerfSemaphore checks that an offset which a perf event would silently cut
// off is refused without asking the kernel.
func TestPerfSemaphore(t *testing.T) {
	g := Groups{}
	s := &Site{Report: Report{Probe: reader.Probe{SemaphoreOffset: 1 << 32}}}
	g.Add(s, nil, 0)
	if all, err := g.All[0].attachSites(t.Context(), link.Perf); err != nil || len(all) != 0 || !errors.Is(s.Reason, plan.ErrSilent) {
		t.Errorf("attached %d, %v, reason %v, want one that wraps ErrSilent", len(all), err, s.Reason)
	}
}
