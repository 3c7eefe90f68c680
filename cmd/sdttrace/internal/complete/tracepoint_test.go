package complete

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/go-usdt/usdt/internal/tracepoint"
)

// TestTracepointsOf checks which tracepoints complete a word.
func TestTracepointsOf(t *testing.T) {
	events := tracepoint.New(fstest.MapFS{"sched/sched_switch/id": {}, "sched/sched_waking/id": {}, "signal/signal_generate/id": {}, "enable": {}})
	for prefix, want := range map[string][]string{
		"s":              {"tracepoint:sched:", "tracepoint:signal:"},
		"sched":          {"tracepoint:sched:"},
		"sched:":         {"tracepoint:sched:sched_switch", "tracepoint:sched:sched_waking"},
		"sched:sched_wa": {"tracepoint:sched:sched_waking"},
		"none:":          nil,
	} {
		got, more := tracepointsOf(events, prefix)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
		if space := more&cobra.ShellCompDirectiveNoSpace == 0; space != (len(got) == 0 || got[0][len(got[0])-1] != ':') {
			t.Errorf("%s: a space follows: %t", prefix, space)
		}
	}
}
