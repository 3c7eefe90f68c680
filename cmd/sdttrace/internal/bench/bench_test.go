package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/bench"
	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestRun measures everything, and compares what differs by so much that it does on any machine.
func TestRun(t *testing.T) {
	needs.Root(t)
	ns := map[string]float64{}
	var table bench.Table
	var text strings.Builder
	for row, err := range bench.Run(t.Context(), time.Second) {
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(table.Add(row))
		if row.Err != "" {
			if !strings.Contains(row.Name, "nop10") { // which some kernels cannot probe
				t.Errorf("%s: %s", row.Name, row.Err)
			}
			continue
		}
		if row.Rate <= 0 || row.Nanos <= 0 || row.Lost > 0.5 {
			t.Errorf("%+v", row)
		}
		if row.Threads == 1 {
			ns[row.Name] = row.Nanos
		}
	}
	for _, less := range [][2]string{
		{"call", "system call"}, {"call", "uprobe nop"}, {"call", "uretprobe nop"}, {"unwatched", "empty program"}, {"unwatched", "recorded"},
	} {
		if a, b := ns[less[0]], ns[less[1]]; a == 0 || a >= b {
			t.Errorf("%s takes %.3g ns, %s %.3g ns", less[0], a, less[1], b)
		}
	}
	advice := table.Advice()
	if !strings.Contains(advice, "This kernel") {
		t.Errorf("advice: %s", advice)
	}
	t.Logf("%s\n%s\n%s", table.Head(), text.String(), advice)
}
