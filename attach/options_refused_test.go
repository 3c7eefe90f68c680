package attach_test

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/reader"
)

// TestRefusedOptions checks that values which would have no effect are refused,
// by the name of their option.
func TestRefusedOptions(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	pids := []int{p.PID()}
	probes := []reader.Probe{live.Probe(t, p.PID(), "args:bare")}
	_, prog := cookieProgram(t, attach.PerfLink)
	program := func(o attach.ProgramOptions) error {
		_, err := attach.AttachProbes(prog, probes, &o)
		return err
	}
	find := func(o attach.FindOptions) error {
		_, err := attach.Find(t.Context(), []string{"args:bare"}, &o)
		return err
	}
	for _, test := range []struct {
		option string
		err    error
	}{
		{"Comm", program(attach.ProgramOptions{Target: attach.Target{Comm: "init"}})},
		{"Cgroup", program(attach.ProgramOptions{Target: attach.Target{Cgroup: "/sys/fs/cgroup"}})},
		{"Exe", program(attach.ProgramOptions{Target: attach.Target{Exe: "/bin/sh"}})},
		{"PIDs", program(attach.ProgramOptions{Target: attach.Target{PIDs: []int{-1}}})},
		{"Cookies", program(attach.ProgramOptions{Target: attach.Target{PIDs: pids}, Cookies: []uint64{1, 2}})},
		{"Cgroup", find(attach.FindOptions{Target: attach.Target{Cgroup: "/sys/fs/cgroup"}})},
		{"Comm", find(attach.FindOptions{Target: attach.Target{Comm: "init"}})},
	} {
		var option *attach.OptionError
		if !errors.As(test.err, &option) || option.Option != test.option {
			t.Errorf("got error %v, want one in option %s", test.err, test.option)
		}
	}
}

// TestRefusedRecording checks that options for recorded events are refused where
// none are.
func TestRefusedRecording(t *testing.T) {
	for name, opts := range map[string]attach.Options{"RingSize": {RingSize: 1 << 20}, "MaxString": {MaxString: 100}, "Stack": {Stack: 1}} {
		_, aggregate := attach.OpenAggregate(t.Context(), []string{"refused:no"}, attach.Count(), &opts)
		_, latency := attach.OpenLatency(t.Context(), "refused:no", "refused:never", nil, &opts)
		for _, err := range []error{aggregate, latency} {
			var option *attach.OptionError
			if !errors.As(err, &option) || option.Option != name {
				t.Errorf("got error %v, want one in option %s", err, name)
			}
		}
	}
}

// TestAggregationDoesNotChange checks that methods of an Aggregation leave it as
// it is, so that two can be made of one.
func TestAggregationDoesNotChange(t *testing.T) {
	p := startChild(t, "aggregate")
	p.Do("load")
	base := attach.Hist("ms").By("path")
	for _, what := range []attach.Aggregation{base.By("status").And(attach.Sum("ms")), base.By("pid").Bounds(0, 1), base} {
		openAggregate(t, []string{"agg:done"}, what, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	}
	a := openAggregate(t, []string{"agg:done"}, base, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("fire 2")
	groups, err := a.Read()
	if err != nil || len(groups) == 0 {
		t.Fatalf("%d groups, error %v", len(groups), err)
	}
	for _, g := range groups {
		if len(g.By) != 1 || g.By[0].Name != "path" || g.Sum != nil {
			t.Errorf("%+v, want a group by path without a sum", g)
		}
	}
}

// TestNoContext checks that everything which takes a context refuses nil.
func TestNoContext(t *testing.T) {
	var none context.Context
	selectors := []string{"args:bare"}
	for name, open := range map[string]func() (io.Closer, error){
		"Open":          func() (io.Closer, error) { return attach.Open(none, selectors, nil) },
		"OpenAggregate": func() (io.Closer, error) { return attach.OpenAggregate(none, selectors, attach.Count(), nil) },
		"OpenLatency":   func() (io.Closer, error) { return attach.OpenLatency(none, "args:bare", "args:ints", nil, nil) },
		"Find": func() (io.Closer, error) {
			_, err := attach.Find(none, selectors, nil)
			return nil, err
		},
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "context is nil") {
			t.Errorf("%s with a nil context: error %v", name, err)
		}
	}
}

// TestSelectorError checks that Open says which selector it does not understand,
// and wants one.
func TestSelectorError(t *testing.T) {
	for _, test := range []struct {
		selectors []string
		want      string
	}{
		{nil, ""},
		{[]string{"args:bare", "args"}, "args"},
	} {
		var selector *attach.SelectorError
		if _, err := attach.Open(t.Context(), test.selectors, nil); !errors.As(err, &selector) || selector.Selector != test.want {
			t.Errorf("%q: got error %v, want a SelectorError of %q", test.selectors, err, test.want)
		}
	}
	var selector *attach.SelectorError
	if _, err := attach.OpenLatency(t.Context(), "args:bare", "args", nil, nil); !errors.As(err, &selector) || selector.Selector != "args" {
		t.Errorf("got error %v, want a SelectorError", err)
	}
}

// TestValidate checks that what Open would refuse for every probe is said without
// it, by option, and with the column of a condition.
func TestValidate(t *testing.T) {
	for option, opts := range map[string]*attach.Options{
		"":       nil,
		"Where":  {Where: "a == "},
		"Follow": {Follow: []string{"["}},
		"Rescan": {Await: true},
		"Target": {Target: attach.Target{PIDs: []int{1}, Comm: "init"}},
		"PIDs":   {Target: attach.Target{PIDs: []int{0}}},
	} {
		err := opts.Validate()
		var wrong *attach.OptionError
		if errors.As(err, &wrong) != (option != "") || wrong != nil && wrong.Option != option {
			t.Errorf("got error %v, want one in option %q", err, option)
		}
		var where *attach.WhereError
		if errors.As(err, &where) != (option == "Where") || where != nil && where.Column != 6 {
			t.Errorf("got error %v, want a column only of a condition", err)
		}
	}
}

// TestSamePID checks that a process which is named twice is traced once.
func TestSamePID(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	p := start(t, exec.Command(path))
	_, prog := cookieProgram(t, attach.PerfLink)
	a, err := attach.AttachProbes(prog, []reader.Probe{live.Probe(t, p.PID(), "args:bare")}, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID(), p.PID()}}, Link: attach.PerfLink})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	if plan := a.Plan(); len(plan) != 1 {
		t.Errorf("%d sites, want 1: %+v", len(plan), plan)
	}
}
