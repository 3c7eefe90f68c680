package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// stacksOfFile returns the events of a file, with stacks of at most so many addresses.
func stacksOfFile(t testing.TB, file *attach.Options, most int, selector string) (all []event.Event) {
	t.Helper()
	o := *file
	o.Stack = most
	for ev, err := range openFile(t, &o, selector).Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// compareStacks compares the events of a live session with those of a file, stacks included.
func compareStacks(t testing.TB, live, recorded []event.Event) {
	t.Helper()
	texts := func(events []event.Event) (texts []string) {
		for _, ev := range events {
			texts = append(texts, fmt.Sprintf("%s %#x %v", withoutTime(t, ev), ev.Stack.PCs, ev.Stack.Err))
		}
		return texts
	}
	if d := cmp.Diff(texts(live), texts(recorded)); d != "" || len(live) == 0 {
		t.Errorf("%d events (-live +recorded):\n%.5000s", len(live), d)
	}
}

// TestRecordStacks compares the stacks that a file has with what the runtime says and with those
// of a session that ran at the same time, of every depth.
func TestRecordStacks(t *testing.T) {
	fire := stackOfGo(t)
	sharedToo(t, func(t *testing.T) {
		o := own()
		o.Stack = attach.MaxStack
		live := open(t, "stackgo:*", &o)
		saved := startRecord(t, []string{"stackgo:*"}, &o)
		want := fire()
		file := saved.end(t)
		events := drain(t, live)
		for _, most := range []int{attach.MaxStack, 3, 1} {
			got := stacksOfFile(t, file, most, "*:*")
			if len(got) != len(want) {
				t.Fatalf("%d events, want %d", len(got), len(want))
			}
			for i, ev := range got {
				if len(ev.Stack.PCs) != min(most, len(events[i].Stack.PCs)) {
					t.Errorf("event %d has %d addresses, want %d of %d", i, len(ev.Stack.PCs), most, len(events[i].Stack.PCs))
				}
				want := slices.Clone(want[i])
				want[0].Line++ // Fire is in the next one
				calls := callsOf(ev.Stack)
				if d := cmp.Diff(want[:min(len(calls), len(want))], calls); d != "" || most == attach.MaxStack && len(calls) != len(want) {
					t.Errorf("event %d (-runtime +recorded):\n%s", i, d)
				}
			}
			if most == attach.MaxStack {
				compareStacks(t, events, got)
			}
		}
		for ev, err := range openFile(t, file, "*:*").Events() {
			if err != nil || ev.Stack != nil {
				t.Errorf("nobody asks for the stack %v, %v", ev.Stack, err)
			}
		}
	})
}

// TestRecordStacksOfC does so for a program in C that has ended and whose file is gone, by both
// links and at functions.
func TestRecordStacksOfC(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
	testRecordStacksOfC(t, path, false, attach.AutoLink, attach.PerfLink)
}

// TestRecordUnwoundStacksOfC does so without frame pointers.
func TestRecordUnwoundStacksOfC(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
	testRecordStacksOfC(t, path, true, attach.AutoLink)
}

func testRecordStacksOfC(t *testing.T, compiled string, unwind bool, links ...attach.LinkKind) {
	program, err := os.ReadFile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		for _, kind := range []string{"stacked:hit", "uprobe:%s:leaf", "uretprobe:%s:leaf"} {
			t.Run(fmt.Sprint(kind[:4], link), func(t *testing.T) {
				path := t.TempDir() + "/stacked"
				if err := os.WriteFile(path, program, 0o700); err != nil {
					t.Fatal(err)
				}
				selector := strings.Replace(kind, "%s", path, 1)
				p := start(t, exec.Command(path, "at once"))
				o := attach.Options{Stack: attach.MaxStack, Unwind: unwind, Link: link, Target: attach.Target{PIDs: []int{p.PID()}}}
				live := open(t, selector, &o)
				saved := startRecord(t, []string{selector}, &o)
				p.Send("")
				if p.Rest(); p.End() != nil {
					t.Fatal("the program failed")
				}
				file := saved.end(t)
				want := drain(t, live)
				got := stacksOfFile(t, file, attach.MaxStack, "*:*")
				compareStacks(t, want, got) // while the file is there
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				truth := "leaf middle main"
				if strings.HasPrefix(kind, "uret") {
					truth = "middle main"
				}
				again := stacksOfFile(t, file, attach.MaxStack, "*:*")
				if len(again) != 2 || !strings.HasPrefix(functions(again[0].Stack), truth) || len(again[1].Stack.PCs) != attach.MaxStack {
					t.Errorf("without the program's file: %d events, want 2 from %q", len(again), truth)
				}
				compareStacks(t, got, again)
			})
		}
	}
}

// jsonOfGroups returns groups as sorted lines of JSON, without their time.
func jsonOfGroups(groups []total.Group) (lines []string) {
	for i := range groups {
		lines = append(lines, string(groups[i].AppendJSON(nil, time.Time{})))
	}
	slices.Sort(lines)
	return lines
}

// groupsOfFile returns the groups of a file.
func groupsOfFile(t testing.TB, file *attach.Options, selectors []string, what attach.Aggregation) []total.Group {
	t.Helper()
	a, err := attach.OpenAggregate(t.Context(), selectors, what, file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	<-a.Done()
	return readGroups(t, a)
}

// TestRecordByStack compares groups by stack of live events with groups that are made of a
// file, and both with who fired them.
func TestRecordByStack(t *testing.T) {
	fire := byStackProbes(t)
	truth := map[string]map[string]uint64{
		"stack":      {"firesOnce": 1, "firesTwice": 2, "firesThrice": 3},
		"path,stack": {"/0 firesOnce": 1, "/0 firesTwice": 1, "/1 firesTwice": 1, "/0 firesThrice": 1, "/1 firesThrice": 2},
	}
	sharedToo(t, func(t *testing.T) {
		o := own()
		live, what := map[string]*attach.Aggregate{}, map[string]attach.Aggregation{}
		for by := range truth {
			what[by] = attach.Sum("n").And(attach.Hist("n"), attach.Quantiles("n", 50, 99)).By(strings.Split(by, ",")...)
			live[by] = openAggregate(t, []string{"bystackgo:done"}, what[by], &o)
		}
		o.Stack = attach.MaxStack
		saved := startRecord(t, []string{"bystackgo:*"}, &o)
		fire()
		file := saved.end(t)
		for by, want := range truth {
			got := groupsOfFile(t, file, []string{"bystackgo:done"}, what[by])
			if d := cmp.Diff(want, callersIn(t, got)); d != "" {
				t.Errorf("by %s (-want +recorded):\n%s", by, d)
			}
			if d := cmp.Diff(jsonOfGroups(readGroups(t, live[by])), jsonOfGroups(got)); d != "" {
				t.Errorf("by %s (-live +recorded):\n%s", by, d)
			}
		}
		latency, err := attach.OpenLatency(t.Context(), "bystackgo:begin", "bystackgo:done", &attach.LatencyOptions{By: []string{"stack"}, Key: []string{"n"}}, file)
		if err != nil {
			t.Fatal(err)
		}
		defer latency.Close()
		<-latency.Done()
		if d := cmp.Diff(truth["stack"], callersIn(t, readGroups(t, latency))); d != "" {
			t.Errorf("latencies (-want +recorded):\n%s", d)
		}
		o = *file
		o.Stack = 2
		pairs, err := attach.OpenPairs(t.Context(), "bystackgo:begin", "bystackgo:done", &attach.PairOptions{Key: []string{"n"}}, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer pairs.Close()
		n := 0
		for pair, err := range pairs.All() {
			n++
			begin, end := pair.Start.Stack, pair.End.Stack
			if err != nil || len(begin.PCs) != 2 || len(end.PCs) != 2 || !strings.Contains(begin.Frames()[0].Func, "byStackProbes") || !strings.Contains(end.Frames()[1].Func, "fires") {
				t.Errorf("pair %d, %v: from %v to %v", n, err, begin.Frames(), end.Frames())
			}
		}
		if n != 6 {
			t.Errorf("%d pairs, want 6", n)
		}
	})
}

// TestRecordWithoutStacks checks that stacks which were not recorded are refused.
func TestRecordWithoutStacks(t *testing.T) {
	p := startChild(t, "flood")
	p.Do("load")
	saved := startRecord(t, []string{"flood:number"}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("1 10")
	file := saved.end(t)
	o := *file
	o.Stack = 3
	option := (*attach.OptionError)(nil)
	if _, err := attach.Open(t.Context(), []string{"*:*"}, &o); !errors.As(err, &option) || option.Option != "Stack" || !strings.HasSuffix(err.Error(), " has no stacks: record it with --stack") {
		t.Errorf("stacks that were not recorded: %v", err)
	}
	if _, err := attach.OpenAggregate(t.Context(), []string{"*:*"}, attach.Count().By("stack"), file); err == nil || !strings.HasSuffix(err.Error(), ": record with --stack") {
		t.Errorf("groups by stacks that were not recorded: %v", err)
	}
	o.Unwind = true
	if _, err := attach.Open(t.Context(), []string{"*:*"}, &o); !errors.As(err, &option) {
		t.Errorf("stacks are unwound later: %v", err)
	}
}
