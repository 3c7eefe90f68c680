package attach

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-usdt/usdt/reader"
)

// TestChunks holds that no link is given more sites than the kernel takes, and
// that none is left out.
func TestChunks(t *testing.T) {
	for n, want := range map[int]string{
		0: "", 1: " 0-1", 1 << 20: " 0-1048576", 1<<20 + 1: " 0-1048576 1048576-1048577", 3 << 19: " 0-1048576 1048576-1572864",
	} {
		got := ""
		for start, end := range chunks(n) {
			got += fmt.Sprintf(" %d-%d", start, end)
		}
		if got != want {
			t.Errorf("%d sites: chunks%s, want%s", n, got, want)
		}
	}
}

// TestPerfSemaphore refuses, without asking the kernel, what a perf event would
// silently cut off.
func TestPerfSemaphore(t *testing.T) {
	g := &group{sites: []*Site{{Probe: reader.Probe{SemaphoreOffset: 1 << 32}}}}
	if all, err := g.attachPerf(t.Context()); err != nil || len(all) != 0 || !errors.Is(g.sites[0].Reason, ErrSilent) {
		t.Errorf("attached %d, %v, reason %v, want one that wraps ErrSilent", len(all), err, g.sites[0].Reason)
	}
}
