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
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/kernel"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/privilege"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/internal/systest/leftover"
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

// TestPrune checks that a few programs without a link are kept, those that had
// one most recently, whatever comes and goes.
func TestPrune(t *testing.T) {
	before := leftover.Descriptors(t)
	var p programs
	busy := map[*ebpf.Program]bool{}
	const all = 3 * idlePrograms
	signatures := make([]*query.Signature, all)
	for i := range signatures {
		sig := &query.Signature{Operands: []operand.Operand{{Kind: operand.Const, Size: 8, Value: uint64(i)}}}
		signatures[i] = sig
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, Instructions: kernel.EmptyProgram(), License: kernel.License})
		mayLoad(t, err)
		p.add(prog, []*query.Signature{sig}, map[*query.Signature]codegen.Entry{})
		if i == 0 {
			busy[prog] = true
		}
		if err := p.prune(busy); err != nil {
			t.Fatal(err)
		}
	}
	for i, sig := range signatures {
		if _, got := p.find(sig); got != (i == 0 || i >= all-idlePrograms) {
			t.Errorf("signature %d of %d is known: %t", i, all, got)
		}
	}
	if n := leftover.Descriptors(t) - before; n != 1+idlePrograms {
		t.Errorf("%d programs are loaded, want %d", n, 1+idlePrograms)
	}
	for i := range 3 * maxRefusals {
		p.refuse(&query.Signature{Operands: []operand.Operand{{Value: uint64(i)}}}, unix.E2BIG)
		if len(p.refusals) > maxRefusals {
			t.Fatalf("%d refusals are kept, want at most %d", len(p.refusals), maxRefusals)
		}
	}
	p.Close()
	if n := leftover.Descriptors(t) - before; n != 0 {
		t.Errorf("%d programs are left", n)
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
	return newProgram(spec)
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
	o, err := opts.used()
	if err != nil {
		t.Fatal(err)
	}
	var inSession, inAggregate, inLatency refuser
	s := &Session{}
	s.progs.create = inSession.create
	mayLoad(t, s.open(t.Context(), []string{"refused*:*"}, o))
	defer s.Close()
	a, err := OpenAggregate(t.Context(), []string{"refused*:*"}, Count().By("probe"), opts)
	mayLoad(t, err)
	defer a.Close()
	a.progs.create = inAggregate.create
	l, err := OpenLatency(t.Context(), "refused*:start*", "refused*:done", &LatencyOptions{Key: []string{"id"}}, opts)
	mayLoad(t, err)
	defer l.Close()
	l.progs.create = inLatency.create

	const versions = 2
	for version := range versions {
		fire := refusedProvider(t, uint64(version))
		for _, tr := range []*tracing{&s.tracing, &a.tracing, &l.tracing} {
			if err := tr.Rescan(false); err != nil {
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
	o, err := opts.used()
	if err != nil {
		t.Fatal(err)
	}
	var r refuser
	later := &Session{}
	later.progs.create = r.create
	mayLoad(t, later.open(t.Context(), []string{"refused0:start"}, o))
	defer later.Close()
	refusedProvider(t, 0)
	if err := later.Rescan(false); err != nil {
		t.Error(err)
	}
	checkRefused(t, "session that waits", later.Plan(), 1)

	for what, open := range map[string]func() error{
		"session": func() error {
			s := &Session{}
			s.progs.create = r.create
			defer s.release()
			return s.open(t.Context(), []string{"refused0:start"}, o)
		},
		"aggregate": func() error {
			a := &Aggregate{}
			a.progs.create = r.create
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
			a.progs.create = r.create
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
