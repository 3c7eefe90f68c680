//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/attach"
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
	running := tool.Start(t, func(ctx context.Context, out io.Writer) error {
		return run(ctx, out, attach.Target{PIDs: []int{os.Getpid()}})
	})
	order.Fire(1, 250)
	order.Fire(2, 1999)
	order.Fire(1, -50)
	if got, want := running.End(), []string{"21.99"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
