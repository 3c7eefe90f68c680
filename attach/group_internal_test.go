package attach

import (
	"errors"
	"testing"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/reader"
)

// TestPerfSemaphore refuses, without asking the kernel, what a perf event would
// silently cut off.
func TestPerfSemaphore(t *testing.T) {
	g := grouper{}
	s := &Site{Probe: reader.Probe{SemaphoreOffset: 1 << 32}}
	g.add(s, nil, 0)
	if all, err := g.all[0].attach(t.Context(), link.Perf); err != nil || len(all) != 0 || !errors.Is(s.Reason, ErrSilent) {
		t.Errorf("attached %d, %v, reason %v, want one that wraps ErrSilent", len(all), err, s.Reason)
	}
}
