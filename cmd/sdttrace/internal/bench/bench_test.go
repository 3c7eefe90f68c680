package bench_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// TestTable checks that rows stand below what is above them, in a terminal of 60 columns.
func TestTable(t *testing.T) {
	var table bench.Table
	head := table.Head()
	head = head[strings.LastIndexByte(head, '\n')+1:]
	threads := bench.Threads()
	var row string
	for _, n := range threads {
		row += table.Add(bench.Row{Group: bench.USDT, Name: "printed, shared memory", Threads: n, Nanos: 11653.4, Syscalls: 0.0039512, Rate: 85812, Stddev: 11200})
	}
	lines := strings.Split(strings.TrimSpace(row), "\n")
	row = "  " + strings.TrimSpace(lines[len(lines)-1])
	const want = "  printed, shared memory 11653  0.00395  0.0858 ± 13 %"
	if !strings.HasPrefix(row, want) || utf8.RuneCountInString(row) > 60 || len(threads) > 1 && utf8.RuneCountInString(row) != utf8.RuneCountInString(head) {
		t.Errorf("got %q below %q, want %q", row, head, want)
	}
}
