package kernelsites

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/tracepoint"
	"github.com/go-usdt/usdt/reader"
)

// TestTracepoints finds tracepoints by selectors.
func TestTracepoints(t *testing.T) {
	files := fstest.MapFS{}
	for _, event := range []string{"sched/sched_switch", "sched/sched_waking", "irq/irq_handler_entry", "rcu/rcu_utilization"} {
		files[event+"/id"] = &fstest.MapFile{Data: []byte("7\n")}
		files[event+"/format"] = &fstest.MapFile{Data: []byte("\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n")}
	}
	load(t, &tracepoints, eventList{tracepoint.New(files)}, nil)
	for _, c := range []struct {
		selectors string
		want      []string
		hot       int
	}{
		{"tracepoint:sched:sched_switch", []string{"sched:sched_switch"}, 0},
		{"tracepoint:sched:* tracepoint:*:sched_switch", []string{"sched:sched_switch", "sched:sched_waking"}, 0},
		{"tracepoint:*:*", []string{"irq:irq_handler_entry", "sched:sched_switch", "sched:sched_waking"}, 1},
		{"tracepoint:rcu:*", []string{"rcu:rcu_utilization"}, 0},
	} {
		found, search, err := find(t, strings.Fields(c.selectors)...)
		var names []string
		for i := range found {
			p := &found[i]
			if p.Kind != reader.Tracepoint || len(p.Kernel.Fields) != 1 {
				t.Errorf("the probe %+v", p)
			}
			names = append(names, p.Provider+":"+p.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" || slices.Max(search.Hot) != c.hot || slices.Contains(search.Matched, false) || err != nil {
			t.Errorf("%s: %d left out, want %d, error %v (-want +got):\n%s", c.selectors, search.Hot, c.hot, err, diff)
		}
	}
	for text, want := range map[string]string{
		"tracepoint:sched:sched_swtch":    ", but tracepoint:sched:sched_switch would",
		"tracepoint:irq:sched_switch":     ", but tracepoint:sched:sched_switch would",
		"tracepoint:shed:*":               ", but 'tracepoint:sched:*' would",
		"tracepoint:shed:none":            ": there is no system shed; the nearest is sched",
		"tracepoint:sched:something_else": ": the system has no such event, or its module is not loaded",
		"tracepoint:r?u:*":                ", except 1 that fire all the time, or while a program of this tracing runs: name their system exactly",
	} {
		found, search, err := find(t, text)
		if got := search.Missing(0); got != want || err != nil || len(found) > 0 {
			t.Errorf("%s: found %d, %q, want %q, error %v", text, len(found), got, want, err)
		}
	}
	load(t, &tracepoints, nil, context.Canceled)
	if _, search, err := find(t, "tracepoint:sched:*"); !errors.Is(err, context.Canceled) || search.Missing(0) != "" {
		t.Errorf("without tracefs: error %v", err)
	}
}

// TestCompleteTracepoints checks which tracepoints complete a word.
func TestCompleteTracepoints(t *testing.T) {
	load(t, &tracepoints, eventList{tracepoint.New(fstest.MapFS{"sched/sched_switch/id": {}, "sched/sched_waking/id": {}, "signal/signal_generate/id": {}, "enable": {}})}, nil)
	complete(t, map[string][]string{
		"tracepoint:s":              {"tracepoint:sched:", "tracepoint:signal:"},
		"tracepoint:sched":          {"tracepoint:sched:"},
		"tracepoint:sched:":         {"tracepoint:sched:sched_switch", "tracepoint:sched:sched_waking"},
		"tracepoint:sched:sched_wa": {"tracepoint:sched:sched_waking"},
		"tracepoint:none:":          nil,
	})
	load(t, &tracepoints, nil, context.Canceled)
	complete(t, map[string][]string{"tracepoint:s": nil})
}
