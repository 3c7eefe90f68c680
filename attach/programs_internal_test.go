package attach

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/provider"
)

// mayLoad skips the test if err says that this process may load no programs.
func mayLoad(t *testing.T, err error) {
	t.Helper()
	if missing := (*privilege.Error)(nil); errors.As(err, &missing) || errors.Is(err, os.ErrPermission) {
		needs.Root(t)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refuser has the verifier refuse programs for six arguments.
type refuser struct{ tried int }

func refuses(sig *query.Signature) bool { return len(sig.Operands) == 6 }

func (r *refuser) create(spec *ebpf.ProgramSpec, in []*query.Signature) (*ebpf.Program, error) {
	if slices.ContainsFunc(in, refuses) {
		r.tried++
		spec.Instructions = append(spec.Instructions, asm.Return()) // which nothing reaches
	}
	return load.Program(spec)
}

// refusedProvider declares a probe whose program the kernel refuses, and an
// ordinary one.
func refusedProvider(t *testing.T, version uint64) (fire func()) {
	p := provider.New(fmt.Sprint("refused", version), nil)
	first := provider.NewProbe6[uint64, uint64, uint64, uint64, uint64, uint64](p, "start", "id", "b", "c", "d", "e", "f")
	small := provider.NewProbe2[uint64, uint64](p, "start_small", "id", "b")
	end := provider.NewProbe1[uint64](p, "done", "id")
	if err := p.Load(); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			needs.Skip(t, "%v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return func() {
		first.Fire(version, 0, 0, 0, 0, 0)
		small.Fire(version, 0)
		end.Fire(version)
	}
}

func checkRefused(t *testing.T, what string, plan Plan, versions int) {
	t.Helper()
	refused := 0
	for i := range plan {
		s := &plan[i]
		if s.Probe.Name != "start" {
			if !s.Attached {
				t.Errorf("%s: %s is not attached: %v", what, s.Probe.Name, s.Reason)
			}
			continue
		}
		refused++
		var verifier *ebpf.VerifierError
		if s.Attached || !errors.As(s.Reason, &verifier) || !strings.Contains(s.Reason.Error(), "load the program that reads its arguments") {
			t.Errorf("%s: attached %t, reason %v, want the verifier's", what, s.Attached, s.Reason)
		}
	}
	if refused != versions {
		t.Errorf("%s: %d sites are refused, want %d", what, refused, versions)
	}
}

// TestRefusedLater finds sites whose program the kernel refuses after a session,
// an aggregate and a latency have been opened. The other sites are traced, the
// plan says why these are not, and their signature is not tried again.
func TestRefusedLater(t *testing.T) {
	opts := &Options{Target: Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour, Await: true}
	o, err := opts.used(nil)
	if err != nil {
		t.Fatal(err)
	}
	var inSession, inAggregate, inLatency refuser
	s := &Session{}
	s.create = inSession.create
	mayLoad(t, s.open(t.Context(), []string{"refused*:*"}, o))
	defer s.Close()
	a, err := OpenAggregate(t.Context(), []string{"refused*:*"}, Count().By("probe"), opts)
	mayLoad(t, err)
	defer a.Close()
	a.programs.loaded.Create = inAggregate.create
	l, err := OpenLatency(t.Context(), "refused*:start*", "refused*:done", &LatencyOptions{Key: []string{"id"}}, opts)
	mayLoad(t, err)
	defer l.Close()
	l.programs.loaded.Create = inLatency.create

	const versions = 2
	for version := range versions {
		fire := refusedProvider(t, uint64(version))
		for _, tr := range []*tracing{&s.tracing, &a.tracing, &l.tracing} {
			if err := tr.Rescan(); err != nil {
				t.Fatal(err)
			}
		}
		fire()
	}
	checkRefused(t, "session", s.Plan(), versions)
	checkRefused(t, "aggregate", a.Plan(), versions)
	checkRefused(t, "latency", l.Plan(), versions)
	for _, r := range []*refuser{&inSession, &inAggregate, &inLatency} {
		// Once with others, once alone; the second time it is known.
		if r.tried != 2 {
			t.Errorf("a program that the kernel refuses was tried %d times, want 2", r.tried)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	events := map[string]int{}
	for ev, err := range s.Events() {
		if err != nil {
			t.Error(err)
		}
		events[ev.Name]++
	}
	if len(events) != 2 || events["start_small"] != versions || events["done"] != versions {
		t.Errorf("events %v, want %d of start_small and done", events, versions)
	}
	groups, err := a.Read()
	if err != nil || len(groups) != 2*versions || groups[0].Count != 1 {
		t.Errorf("groups %+v, %v", groups, err)
	}
	groups, err = l.Read()
	if err != nil || len(groups) != 1 || groups[0].Count != versions {
		t.Errorf("latencies %+v, %v", groups, err)
	}
}

// TestRefusedAll opens sessions whose only program the kernel refuses: the error
// says so, once. In a session with Await the plan says so.
func TestRefusedAll(t *testing.T) {
	opts := &Options{Target: Target{PIDs: []int{os.Getpid()}}, Rescan: time.Hour, Await: true}
	o, err := opts.used(nil)
	if err != nil {
		t.Fatal(err)
	}
	var r refuser
	later := &Session{}
	later.create = r.create
	mayLoad(t, later.open(t.Context(), []string{"refused0:start"}, o))
	defer later.Close()
	refusedProvider(t, 0)
	if err := later.Rescan(); err != nil {
		t.Error(err)
	}
	checkRefused(t, "session that waits", later.Plan(), 1)

	for what, open := range map[string]func() error{
		"session": func() error {
			s := &Session{}
			s.create = r.create
			defer s.release()
			return s.open(t.Context(), []string{"refused0:start"}, o)
		},
		"aggregate": func() error {
			a := &Aggregate{}
			a.create = r.create
			defer a.release()
			return a.open(t.Context(), []string{"refused0:start"}, o, &bind.Layout{Layout: query.Layout{Wanted: Count().By("probe").wanted, CPUs: 1}})
		},
		"latency whose starts are refused": func() error {
			pairs := &bind.PairLayout{Pending: defaultMaxPending, Key: []string{"id"}}
			if pairs.Start, err = selector.Parse("refused0:start"); err != nil {
				return err
			}
			if pairs.End, err = selector.Parse("refused0:done"); err != nil {
				return err
			}
			layout := &bind.Layout{Layout: query.Layout{Wanted: Sum("latency").wanted, Value: query.Elapsed, CPUs: 1}, Pairs: pairs}
			a := &Aggregate{}
			a.create = r.create
			defer a.release()
			without := *o
			without.Await = false
			return a.open(t.Context(), []string{"refused0:start", "refused0:done"}, &without, layout)
		},
	} {
		err := open()
		var verifier *ebpf.VerifierError
		if !errors.Is(err, ErrNoSite) || !errors.As(err, &verifier) {
			t.Errorf("%s: error %v, want one that wraps ErrNoSite and the verifier's", what, err)
		} else if n := strings.Count(err.Error(), "load the program"); n != 1 {
			t.Errorf("%s: error %v says %d times what went wrong", what, err, n)
		}
	}
}
