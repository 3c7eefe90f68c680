package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tool"
	"github.com/go-usdt/usdt/provider"
)

// TestRun runs statements in this process, which has PostgreSQL's probes.
func TestRun(t *testing.T) {
	p := provider.New("postgresql", nil)
	start, done := provider.NewProbe1[string](p, "query__start", "query"), provider.NewProbe1[string](p, "query__done", "query")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	running := tool.Start(t, func(ctx context.Context, out io.Writer) error {
		return run(ctx, out, attach.Target{PIDs: []int{os.Getpid()}})
	})
	for i := range 30 {
		query := fmt.Sprintf("SELECT * FROM orders WHERE id = %d", i)
		if i%10 == 0 {
			query = "COMMIT"
		}
		start.Fire(query)
		done.Fire(query)
	}
	got, in := map[string]int{}, ""
	for _, line := range running.End() {
		var lo, hi, n int
		if count, text, ok := strings.Cut(line, " × "); ok {
			in = count + " " + text
		} else if _, err := fmt.Sscanf(line, "  %d to %d ns: %d", &lo, &hi, &n); err != nil || lo >= hi {
			t.Errorf("%q: %v", line, err)
		}
		got[in] += n
	}
	if len(got) != 2 || got["27 SELECT * FROM orders WHERE id = ?"] != 27 || got["3 COMMIT"] != 3 {
		t.Errorf("got %v", got)
	}
}
