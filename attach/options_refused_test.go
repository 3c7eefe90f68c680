package attach_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/systest/live"
	"github.com/go-usdt/usdt/internal/systest/needs"
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
		{"Children", program(attach.ProgramOptions{Target: attach.Target{PIDs: pids, Children: true}})},
		{"PIDs", program(attach.ProgramOptions{Target: attach.Target{PIDs: []int{-1}}})},
		{"Cookies", program(attach.ProgramOptions{Target: attach.Target{PIDs: pids}, Cookies: []uint64{1, 2}})},
		{"Cgroup", find(attach.FindOptions{Target: attach.Target{Cgroup: "/sys/fs/cgroup"}})},
		{"Comm", find(attach.FindOptions{Target: attach.Target{Comm: "init"}})},
		{"Recordings", find(attach.FindOptions{Target: attach.Target{Recordings: []string{"x"}}})},
		{"Recordings", program(attach.ProgramOptions{Target: attach.Target{Recordings: []string{"x"}}})},
	} {
		var option *attach.OptionError
		if !errors.As(test.err, &option) || option.Option != test.option {
			t.Errorf("got error %v, want one in option %s", test.err, test.option)
		}
	}
}

// TestRefusedStack checks that stacks are refused where nobody would see them.
func TestRefusedStack(t *testing.T) {
	opts := &attach.Options{Stack: 1}
	_, aggregate := attach.OpenAggregate(t.Context(), []string{"refused:no"}, attach.Count(), opts)
	_, latency := attach.OpenLatency(t.Context(), "refused:no", "refused:never", nil, opts)
	for _, err := range []error{aggregate, latency} {
		var option *attach.OptionError
		if !errors.As(err, &option) || option.Option != "Stack" {
			t.Errorf("got error %v, want one in option Stack", err)
		}
	}
}

// TestOptionsOfAll checks that each call has the options that it can use, and no others: what is
// left to Options has a meaning for all of them.
func TestOptionsOfAll(t *testing.T) {
	fields := func(v any) (names []string) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			names = append(names, f.Name)
		}
		return names
	}
	all := fields(attach.Options{})
	for _, own := range []any{attach.EventOptions{}, attach.RecordOptions{}, attach.PairOptions{}, attach.SpanOptions{}, attach.LatencyOptions{}, attach.SnapshotOptions{}} {
		for _, name := range fields(own) {
			if slices.Contains(all, name) {
				t.Errorf("%s of %T is also one of Options, which calls without it have", name, own)
			}
		}
	}
	for name, err := range map[string]error{
		"RingSize":  (&attach.EventOptions{RingSize: -1}).Validate(nil),
		"MaxString": (&attach.EventOptions{MaxString: 1 << 20}).Validate(nil),
	} {
		var option *attach.OptionError
		if !errors.As(err, &option) || option.Option != name {
			t.Errorf("got error %v, want one in option %s", err, name)
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
	for _, test := range []struct {
		option string
		opts   *attach.Options
	}{
		{"", nil},
		{"Where", &attach.Options{Where: "a == "}},
		{"Follow", &attach.Options{Follow: []string{"["}}},
		{"Follow", &attach.Options{Follow: []string{""}}},
		{"Follow", &attach.Options{Follow: []string{"p:n:"}}},
		{"Follow", &attach.Options{Follow: []string{"peer..next"}}},
		{"Follow", &attach.Options{Follow: []string{"p:n:peer."}}},
		{"Follow", &attach.Options{Follow: []string{"peer next"}}},
		{"Strings", &attach.Options{Strings: []string{""}}},
		{"Args", &attach.Options{Args: []string{""}}},
		{"Link", &attach.Options{Link: 99}},
		{"Link", &attach.Options{Link: -1}},
		{"Rescan", &attach.Options{Await: true}},
		{"Target", &attach.Options{Target: attach.Target{PIDs: []int{1}, Comm: "init"}}},
		{"PIDs", &attach.Options{Target: attach.Target{PIDs: []int{0}}}},
		{"Children", &attach.Options{Target: attach.Target{Children: true}}},
	} {
		option, err := test.option, test.opts.Validate()
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

// TestValidatePairs checks that options of pairs are errors of the option, and of the aggregation.
func TestValidatePairs(t *testing.T) {
	if err := (*attach.PairOptions)(nil).Validate(); err != nil {
		t.Error(err)
	}
	for option, opts := range map[string]attach.PairOptions{
		"Slower": {Slower: -1}, "MaxPending": {MaxPending: -1}, "Key": {Key: []string{""}}, "RingSize": {RingSize: -1}, "MaxString": {MaxString: -1},
	} {
		_, opened := attach.OpenPairs(t.Context(), "refused:no", "refused:never", &opts, nil)
		for _, err := range []error{opts.Validate(), opened} {
			var wrong *attach.OptionError
			pairing := option != "RingSize" && option != "MaxString"
			if !errors.As(err, &wrong) || wrong.Option != option || errors.Is(err, attach.ErrAggregation) != pairing {
				t.Errorf("got error %v, want one in option %s", err, option)
			}
		}
	}
}

// TestValidateLatency checks that options of latencies are errors of the option, before anything is
// looked for.
func TestValidateLatency(t *testing.T) {
	if err := (*attach.LatencyOptions)(nil).Validate(); err != nil {
		t.Error(err)
	}
	for option, opts := range map[string]attach.LatencyOptions{
		"MaxPending": {MaxPending: -1}, "Key": {Key: []string{""}}, "RingSize": {RingSize: -1}, "Interval": {Interval: -1}, "By": {By: []string{""}},
		"Scale": {Scale: -1}, "Bounds": {Bounds: []float64{2, 1}}, "MaxGroups": {MaxGroups: -1, By: []string{"pid"}},
	} {
		_, opened := attach.OpenLatency(t.Context(), "refused:no", "refused:never", &opts, nil)
		for _, err := range []error{opts.Validate(), opened} {
			var wrong *attach.OptionError
			if !errors.As(err, &wrong) || wrong.Option != option {
				t.Errorf("got error %v, want one in option %s", err, option)
			}
		}
	}
}

// TestValidateAggregation checks that what makes no sense is an error before anything is looked for.
func TestValidateAggregation(t *testing.T) {
	for want, what := range map[string]attach.Aggregation{
		"By": attach.Count().By("x +"), "MaxGroups": attach.Count().By("pid").MaxGroups(-1), "Scale": attach.Sum("x").Scale(1), "Bounds": attach.Hist("x").Bounds(2, 1), "": attach.Sum(""),
	} {
		err, option := what.Validate(), ""
		if wrong := (*attach.OptionError)(nil); errors.As(err, &wrong) {
			option = wrong.Option
		}
		if _, opened := attach.OpenAggregate(t.Context(), []string{"refused:no"}, what, nil); option != want || !errors.Is(err, attach.ErrAggregation) || opened == nil {
			t.Errorf("got error %v, want one about %q; opened: %v", err, want, opened)
		}
	}
	if err := attach.Hist("x").Scale(2).By("comm", "x/10").MaxGroups(10).Validate(); err != nil {
		t.Error(err)
	}
}

// TestWrongProgram checks that a program which no site would take is said to be wrong, instead of the
// site.
func TestWrongProgram(t *testing.T) {
	p := start(t, exec.Command(compile(t, "gcc", "-O2")))
	probes := []reader.Probe{live.Probe(t, p.PID(), "args:bare")}
	auto := "was not loaded for uprobe_multi links"
	if features.HaveBPFLinkUprobeMulti() != nil {
		auto = "was not loaded for perf events"
	}
	for _, test := range []struct {
		typ  ebpf.ProgramType
		at   ebpf.AttachType
		link attach.LinkKind
		want string
	}{
		{ebpf.TracePoint, 0, attach.AutoLink, "the program has type TracePoint"},
		{ebpf.Kprobe, ebpf.AttachTraceKprobeMulti, attach.AutoLink, auto},
		{ebpf.Kprobe, ebpf.AttachNone, attach.MultiLink, "was not loaded for uprobe_multi links"},
		{ebpf.Kprobe, ebpf.AttachTraceUprobeMulti, attach.PerfLink, "was not loaded for perf events"},
		{ebpf.Kprobe, 0, 99, "option Link: 99 is no kind of link"},
	} {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: test.typ, AttachType: test.at, License: "GPL", Instructions: kernel.EmptyProgram()})
		if err != nil {
			needs.Skip(t, "%v", err)
		}
		defer prog.Close()
		a, err := attach.AttachProbes(prog, probes, &attach.ProgramOptions{Target: attach.Target{PIDs: []int{p.PID()}}, Link: test.link})
		if err == nil {
			err = errors.Join(a.Close(), a.Wait(t.Context()))
		}
		if errors.Is(err, ebpf.ErrNotSupported) || err == nil && test.typ == ebpf.Kprobe && test.want != "" && features.HaveBPFLinkUprobeMulti() != nil {
			continue // a kernel without such links runs any program at perf events
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "another tracer") || errors.Is(err, os.ErrPermission) {
			t.Errorf("%v for %v by %v: got error %v, want %q", test.typ, test.at, test.link, err, test.want)
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
