package selector

import (
	"strings"
	"testing"
)

// TestTracepoint checks which tracepoints selectors name, and how they are written.
func TestTracepoint(t *testing.T) {
	for _, c := range []struct {
		selector, system, event string
		want                    bool
	}{
		{"tracepoint:sched:sched_switch", "sched", "sched_switch", true},
		{"tracepoint:sched:sched_*", "sched", "sched_switch", true},
		{"tracepoint:s*:sched_switc?", "sched", "sched_switch", true},
		{"tracepoint:sched:sched_switch", "sched", "sched_waking", false},
		{"tracepoint:irq:*", "sched", "sched_switch", false},
		{"kprobe:sched:sched_switch", "sched", "sched_switch", false},
	} {
		s, err := Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.MatchSystem(c.system) && s.MatchKernel(c.system, c.event, 0); got != c.want {
			t.Errorf("%s names %s:%s: %t, want %t", c.selector, c.system, c.event, got, c.want)
		}
		if s.String() != c.selector {
			t.Errorf("%s is written %s", c.selector, s.String())
		}
		if s.MatchPath("/lib/x.so") || s.MatchName(c.event) || s.Match("/lib/x.so", c.system, c.event) {
			t.Errorf("%s names something in a file", c.selector)
		}
	}
	for selector, want := range map[string]string{
		"tracepoint:":                "want tracepoint:SYSTEM:EVENT",
		"tracepoint:sched_switch":    `for a probe of a provider that is called tracepoint, write \tracepoint:NAME`,
		"tracepoint::sched_switch":   "the system is empty",
		"tracepoint:sched:":          "the event is empty",
		"tracepoint:a:b:c":           "too many parts",
		"tracepoint:sched:sched_[sw": "function",
	} {
		if _, err := Parse(selector); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", selector, err, want)
		}
	}
	if got := Probe("", "tracepoint", "lost"); got != `\tracepoint:lost` {
		t.Errorf("the probe lost of a provider tracepoint is %s", got)
	}
	s, err := Parse(`\tracepoint:lost`)
	if err != nil || !s.Match("/lib/x.so", "tracepoint", "lost") {
		t.Errorf("the probe lost of a provider tracepoint is not named by its selector (%v)", err)
	}
}

// TestNearTracepoint checks which tracepoints a selector without a match may have meant.
func TestNearTracepoint(t *testing.T) {
	for _, c := range []struct {
		selector, system, event string
		want                    bool
	}{
		{"tracepoint:sched:sched_swich", "sched", "sched_switch", true},
		{"tracepoint:shed:sched_switch", "sched", "sched_switch", true},
		{"tracepoint:task:sched_switch", "sched", "sched_switch", true}, // the event says enough
		{"tracepoint:task:a", "sched", "a", false},
		{"tracepoint:sched:sys_enter", "sched", "sched_switch", false},
	} {
		s, err := Parse(c.selector)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := s.NearTracepoint(c.system, c.event); got != c.want {
			t.Errorf("%s is near %s:%s: %t, want %t", c.selector, c.system, c.event, got, c.want)
		}
	}
}
