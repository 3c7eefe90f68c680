package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tool"
)

// TestRun runs a thousand processes, one after the other, of which none lives for more than some
// milliseconds.
func TestRun(t *testing.T) {
	path := needs.Compile(t, "testdata/brief.c", "gcc", "-O1")
	running := tool.Start(t, func(ctx context.Context, out io.Writer) error { return run(ctx, out, path+":brief:hit") })
	const processes = 1000
	for range processes {
		needs.Run(t, path)
	}
	sum := 0
	lines := running.End()
	for _, line := range lines {
		var n int
		var comm, probe string
		if _, err := fmt.Sscan(line, &n, &comm, &probe); err == nil && probe == "brief:hit" && strings.HasPrefix(filepath.Base(path), comm) {
			sum += n
		}
	}
	if sum != 3*processes || lines[len(lines)-1] != "lost 0, late sites 0" {
		t.Errorf("%d events, want %d: %q", sum, 3*processes, lines)
	}
}
