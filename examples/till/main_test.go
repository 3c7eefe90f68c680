//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, &out) }()
	for end := time.Now().Add(time.Minute); !order.Enabled(); time.Sleep(time.Millisecond) {
		select {
		case err := <-ended:
			if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
				needs.Skip(t, "%v", err)
			}
			t.Fatalf("ended early: %v", err)
		default:
		}
		if time.Now().After(end) {
			t.Fatal("nobody attaches")
		}
	}
	order.Fire(1, 250)
	order.Fire(2, 1999)
	order.Fire(1, -50)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	want := []string{"orders of 1 items: 2, 2.00 in all", "orders of 2 items: 1, 19.99 in all"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
