//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

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
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, in)
		in.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		err := <-ended
		if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
			needs.Skip(t, "%v", err)
		}
		t.Fatalf("ended early: %v", err)
	}
	order.Fire(1, 250)
	order.Fire(2, 1999)
	order.Fire(1, -50)
	cancel()
	var got []string
	for lines.Scan() {
		got = append(got, lines.Text())
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := []string{"orders of 1 items: 2, 2.00 in all", "orders of 2 items: 1, 19.99 in all"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
