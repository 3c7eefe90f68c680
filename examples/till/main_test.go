//go:build linux && (amd64 || arm64)

package main

import (
	"slices"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/provider"
)

// TestRun sells in this process while the tool runs.
func TestRun(t *testing.T) {
	till := provider.New("till", nil)
	order := provider.NewProbe2[uint64, int64](till, "order", "items", "cents")
	if err := till.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { till.Close() })
	running := tool.Start(t, run)
	order.Fire(1, 250)
	order.Fire(2, 1999)
	order.Fire(1, -50)
	got := running.End()
	slices.Sort(got)
	want := []string{"orders of 1 items: 2, 2.00 in all", "orders of 2 items: 1, 19.99 in all"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
