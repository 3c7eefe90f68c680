package discover

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/selector"
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
	was := loadTracepoints
	defer func() { loadTracepoints = was }()
	loadTracepoints = func() (*tracepoint.Events, error) { return tracepoint.New(files), nil }
	search := func(texts ...string) (names []string, hot int, err error) {
		var selectors []selector.Selector
		for _, text := range texts {
			s, err := selector.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			selectors = append(selectors, s)
		}
		d := New(selectors, &process.Set{})
		sites, err := d.First(context.Background())
		for s := range sites.All() {
			if s.Probe.Kind != reader.Tracepoint || len(s.Probe.Kernel.Fields) != 1 {
				t.Errorf("the probe %+v", s.Probe)
			}
			matched := 0
			for i := range selectors {
				if Selects(&selectors[i], &s.Probe) {
					matched++
				}
			}
			if matched == 0 {
				t.Errorf("no selector of %q names %s", texts, s.Probe.Name)
			}
			names = append(names, s.Probe.Provider+":"+s.Probe.Name)
		}
		return names, d.Hot(), err
	}
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
		names, hot, err := search(strings.Fields(c.selectors)...)
		if diff := cmp.Diff(c.want, names); diff != "" || hot != c.hot || err != nil {
			t.Errorf("%s: %d left out, want %d, error %v (-want +got):\n%s", c.selectors, hot, c.hot, err, diff)
		}
	}
	for text, want := range map[string]string{
		"tracepoint:sched:sched_swtch":    "no probe matches tracepoint:sched:sched_swtch in the kernel, but tracepoint:sched:sched_switch would",
		"tracepoint:irq:sched_switch":     "but tracepoint:sched:sched_switch would",
		"tracepoint:shed:*":               "but 'tracepoint:sched:*' would",
		"tracepoint:shed:none":            "there is no system shed; the nearest is sched",
		"tracepoint:sched:something_else": "the system has no such event",
		"tracepoint:r?u:*":                "except 1 that fire all the time",
	} {
		if names, _, err := search(text); !errors.Is(err, ErrNoMatch) || !errors.Is(err, ErrNoFunction) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %q, error %v, want %q", text, names, err, want)
		}
	}
	loadTracepoints = func() (*tracepoint.Events, error) { return nil, context.Canceled }
	if _, _, err := search("tracepoint:sched:*"); !errors.Is(err, context.Canceled) {
		t.Errorf("without tracefs: error %v", err)
	}
}
