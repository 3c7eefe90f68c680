package attach_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

func init() {
	roles["versions"] = tracee.Obey(versionsChild("versions"))
	roles["growth"] = tracee.Obey(versionsChild("growth"))
}

// versionsChild is a program of three versions, which declare a probe of the same
// name: "load" says which version to declare, and may have another name for the provider.
func versionsChild(name string) func(command string) error {
	return func(command string) error { return obeyVersion(name, command) }
}

func obeyVersion(name, command string) error {
	args, loads := strings.CutPrefix(command, "load ")
	if !loads {
		versionsFire()
		return nil
	}
	version, other, _ := strings.Cut(args, " ")
	name = cmp.Or(other, name)
	p := provider.New(name, nil)
	start := provider.NewProbe1[uint64](p, "start", "id")
	switch version {
	case "old":
		done := provider.NewProbe1[uint64](p, "done", "id")
		versionsFire = func() { start.Fire(1); done.Fire(1) }
	case "new":
		done := provider.NewProbe2[uint64, int32](p, "done", "id", "status")
		versionsFire = func() { start.Fire(2); done.Fire(2, 404); done.Fire(2, 500) }
	case "text":
		done := provider.NewProbe2[uint64, string](p, "done", "id", "status")
		versionsFire = func() { start.Fire(3); done.Fire(3, "500") }
	}
	return p.Load()
}

var versionsFire func()

func startVersion(t testing.TB, version string) *tracee.Program {
	p := startChild(t, "versions")
	p.Do("load %s", version)
	return p
}

// TestVersions traces the versions of a program that a condition fits, and checks
// that the plan says why the others are left out.
func TestVersions(t *testing.T) { sharedToo(t, checkVersions) }

func checkVersions(t *testing.T) {
	name := fmt.Sprint("versions", os.Getpid()) // which no other test has, in whatever process
	var programs []*tracee.Program
	for _, version := range []string{"old", "new", "text"} {
		programs = append(programs, startVersion(t, version+" "+name))
	}
	var pids []int
	for _, p := range programs {
		pids = append(pids, p.PID())
	}
	for _, test := range []struct {
		selector string
		pids     []int
		sites    int
	}{
		{name + ":done", pids, 3},
		{name + ":*", pids, 6},
		{name + ":done", nil, 3},
	} {
		s := open(t, test.selector, &attach.Options{Target: attach.Target{PIDs: test.pids}, Where: "status >= 500"})
		plan := s.Plan()
		if len(plan) != test.sites || plan.Attached() != 1 {
			t.Errorf("%s of %v: attached %d of %d sites, want 1 of %d", test.selector, test.pids, plan.Attached(), len(plan), test.sites)
		}
		for i := range plan {
			var where *attach.WhereError
			if site := &plan[i]; !site.Attached && !errors.As(site.Reason, &where) {
				t.Errorf("a site is left out because of %v, want a WhereError", site.Reason)
			}
		}
		for _, p := range programs {
			p.Do("fire")
		}
		events := drain(t, s)
		if len(events) != 1 || events[0].PID != programs[1].PID() || events[0].Args[1].Value != int64(500) {
			t.Errorf("%s of %v: events %+v, want status 500 of process %d", test.selector, test.pids, events, programs[1].PID())
		}
		checkSum(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := attach.Open(t.Context(), []string{name + ":done", name + ":start"}, &attach.Options{Target: attach.Target{PIDs: pids}, Where: "status >= 500"})
	var where *attach.WhereError
	if !errors.As(err, &where) {
		t.Errorf("a selector of which no probe fits: error %v, want a WhereError", err)
	}
}

// without returns the groups whose key could not be read.
func without(groups []total.Group) (some []total.Group) {
	for _, g := range groups {
		if g.By[0].Err != nil {
			some = append(some, g)
		}
	}
	return some
}

// TestVersionsAggregate is TestVersions for the arguments and keys of aggregates.
func TestVersionsAggregate(t *testing.T) { everyWay(t, checkVersionsAggregate) }

func checkVersionsAggregate(t *testing.T) {
	programs := []*tracee.Program{startVersion(t, "old"), startVersion(t, "new")}
	o := &attach.Options{Target: attach.Target{PIDs: []int{programs[0].PID(), programs[1].PID()}}}
	for _, sums := range []bool{true, false} {
		what := attach.Count().By("status")
		if sums {
			what = attach.Sum("status")
		}
		a := openAggregate(t, []string{"versions:done"}, what, o)
		for _, p := range programs {
			p.Do("fire")
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case sums && (len(groups) != 1 || groups[0].Sum != int64(904)):
			t.Errorf("%+v, want a sum of 904", groups)
		case !sums && (len(groups) != 3 || len(without(groups)) != 1):
			t.Errorf("%+v, want a group for 404, one for 500 and one without the argument", groups)
		}
		if plan := a.Plan(); plan.Attached() != 2 || len(plan) != 2 {
			t.Errorf("attached %d of %d sites, want 2 of 2", plan.Attached(), len(plan))
		}
	}
	a, err := latencyBy(t, t.Context(), "versions:start", "versions:done", &attach.LatencyOptions{By: []string{"status"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, p := range programs {
		p.Do("fire")
	}
	groups, err := a.Read()
	ends404 := slices.ContainsFunc(groups, func(g total.Group) bool { return g.By[0].Value == int64(404) })
	if err != nil || len(groups) != 2 || !ends404 || len(without(groups)) != 1 {
		t.Errorf("pairs %+v (error %v), want one that ends with 404, and one without the argument", groups, err)
	}
	_, err = aggregateBy(t, t.Context(), []string{"versions:done"}, attach.Sum("status"), &attach.Options{Target: attach.Target{PIDs: o.Target.PIDs[:1]}})
	if !errors.Is(err, attach.ErrAggregation) {
		t.Errorf("a sum of what no probe has: error %v, want ErrAggregation", err)
	}
}
