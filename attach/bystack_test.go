package attach_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/total"
)

// byStack are the counts of groups by the functions of their stacks, up to main and the
// innermost first, behind the values of their other keys.
func byStack(t testing.TB, groups []total.Group) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for _, g := range groups {
		var key []string
		for _, by := range g.By {
			switch v := by.Value.(type) {
			case *event.Stack:
				key = append(key, functions(v))
			default:
				key = append(key, fmt.Sprint(v, by.Err))
			}
		}
		name := strings.Join(key, "; ")
		if g.Other {
			name = "other"
		}
		if counts[name] != 0 {
			t.Errorf("two groups %s, of %v", name, groups)
		}
		counts[name] += g.Count
	}
	return counts
}

func readGroups(t testing.TB, a interface {
	Read() ([]total.Group, error)
}) []total.Group {
	t.Helper()
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// byStackProbes declares a probe that three functions fire, each as often as its number says.
func byStackProbes(t testing.TB) (fire func()) {
	p := provider.New("bystackgo", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	done := provider.NewProbe2[uint64, string](p, "done", "n", "path")
	begin := provider.NewProbe1[uint64](p, "begin", "n")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	return func() {
		for i := range uint64(6) {
			begin.Fire(i)
			firesSome(func() { done.Fire(i, fmt.Sprintf("/%d", i%2)) }, i)
		}
	}
}

func firesSome(fire func(), i uint64) {
	switch {
	case i < 1:
		firesOnce(fire)
	case i < 3:
		firesTwice(fire)
	default:
		firesThrice(fire)
	}
}

//go:noinline
func firesOnce(fire func()) { fire() }

//go:noinline
func firesTwice(fire func()) { fire() }

//go:noinline
func firesThrice(fire func()) { fire() }

// callersIn counts events by which of these functions is on their stacks, and other keys.
func callersIn(t testing.TB, groups []total.Group) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for _, g := range groups {
		var key []string
		for _, by := range g.By {
			s, ok := by.Value.(*event.Stack)
			if !ok {
				key = append(key, fmt.Sprint(by.Value))
				continue
			}
			frames := s.Frames()
			if !strings.Contains(frames[0].Func, "byStackProbes.func") {
				t.Errorf("the stack begins with %v, want the function that fires", frames[0])
			}
			if len(frames) < 3 {
				t.Fatalf("stack %v, want three frames or more", frames)
			}
			_, name, _ := strings.Cut(frames[1].Func, "attach_test.")
			key = append(key, name)
		}
		counts[strings.Join(key, " ")] += g.Count
	}
	return counts
}

// TestByStack checks that events are grouped by who fired them, in the kernel, of records, and
// through shared memory, alone and by other keys, and in the histogram and the sum of an
// argument as in the count.
func TestByStack(t *testing.T) {
	fire := byStackProbes(t)
	everyWay(t, func(t *testing.T) {
		for by, want := range map[string]map[string]uint64{
			"stack":       {"firesOnce": 2, "firesTwice": 4, "firesThrice": 6},
			"path,stack":  {"/0 firesOnce": 2, "/0 firesTwice": 2, "/1 firesTwice": 2, "/0 firesThrice": 2, "/1 firesThrice": 4},
			"stack,probe": {"firesOnce bystackgo:done": 2, "firesTwice bystackgo:done": 4, "firesThrice bystackgo:done": 6},
		} {
			t.Run(by, func(t *testing.T) {
				o := own()
				what := attach.Sum("n").And(attach.Hist("n"), attach.Quantiles("n", 50)).By(strings.Split(by, ",")...)
				a := openAggregate(t, []string{"bystackgo:done"}, what, &o)
				var all []total.Group
				for range 2 { // an interval each
					fire()
					groups := readGroups(t, a)
					all = append(all, groups...)
					sum := uint64(0)
					for _, g := range groups {
						sum += g.Sum.(uint64)
						if g.Hist == nil || len(g.Quantiles) != 1 {
							t.Errorf("group %+v lacks its histogram or its median", g)
						}
					}
					if sum != 15 {
						t.Errorf("the sum of all groups is %d, want 15", sum)
					}
				}
				if d := cmp.Diff(want, callersIn(t, all)); d != "" {
					t.Errorf("counts (-want +got):\n%s", d)
				}
				if st := checkSum(t, a); st.Received != 12 {
					t.Errorf("stats %+v, want 12 received", st)
				}
			})
		}
	})
}

// TestLatencyByStack checks that times are grouped by the stack of their ends.
func TestLatencyByStack(t *testing.T) {
	fire := byStackProbes(t)
	everyWay(t, func(t *testing.T) {
		o := own()
		l, err := latencyBy(t, t.Context(), "bystackgo:begin", "bystackgo:done", &attach.LatencyOptions{By: []string{"stack"}, Key: []string{"n"}}, &o)
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer l.Close()
		fire()
		if d := cmp.Diff(map[string]uint64{"firesOnce": 1, "firesTwice": 2, "firesThrice": 3}, callersIn(t, readGroups(t, l))); d != "" {
			t.Errorf("counts (-want +got):\n%s", d)
		}
	})
}

// TestByStackIsThatOfEvents compares the frames of groups with those of the events that they
// are made of, by depth.
func TestByStackIsThatOfEvents(t *testing.T) {
	fire := byStackProbes(t)
	for _, most := range []int{1, 2, 0} {
		everyWay(t, func(t *testing.T) {
			o := own()
			o.Stack = most
			a := openAggregate(t, []string{"bystackgo:done"}, attach.Count().By("stack"), &o)
			if o.Stack == 0 {
				o.Stack = attach.MaxStack
			}
			s := open(t, "bystackgo:done", by(t, &o))
			fire()
			want, got := map[string]uint64{}, map[string]uint64{}
			for _, ev := range drain(t, s) {
				want[string(ev.Stack.AppendJSON(nil))]++
			}
			for _, g := range readGroups(t, a) {
				var data struct {
					By struct{ Stack json.RawMessage }
				}
				text := g.AppendJSON(nil, g.At)
				if err := json.Unmarshal(text, &data); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
				got[string(data.By.Stack)] += g.Count
			}
			if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
				t.Errorf("%d stacks of events, groups differ (-events +groups):\n%s", len(want), d)
			}
		})
	}
}

// TestByStackOfC checks groups of a program in C, at its probe, and at a function's entry and
// return: of two processes that have ended, whose stacks are the same, and by which of them.
func TestByStackOfC(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
	testByStackOfC(t, path, false, stackLinks()...)
}

// stackLinks are the links whose programs read stacks.
func stackLinks() []attach.LinkKind {
	if testing.Short() { // on emulated machines each takes a minute, and one of them has no other links
		return []attach.LinkKind{attach.AutoLink}
	}
	return []attach.LinkKind{attach.AutoLink, attach.PerfLink}
}

// TestByUnwoundStackOfC does so without frame pointers.
func TestByUnwoundStackOfC(t *testing.T) {
	path := compileC(t, "stack", "gcc", "-static-pie", "-O1", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
	testByStackOfC(t, path, true, attach.AutoLink)
}

func testByStackOfC(t *testing.T, path string, unwind bool, links ...attach.LinkKind) {
	deep := strings.Repeat(" deep", attach.MaxStack-2)
	for _, test := range []struct{ selector, want, deep string }{
		{"stacked:hit", "leaf middle main", "leaf middle" + deep},
		{"uprobe:" + path + ":leaf", "leaf middle main", "leaf middle" + deep},
		{"uretprobe:" + path + ":leaf", "middle main", "middle" + deep + " deep"},
	} {
		for _, link := range links {
			if link == attach.PerfLink && !strings.HasPrefix(test.selector, "stacked") {
				continue // a program's stack is the same at all kinds of sites
			}
			t.Run(fmt.Sprint(test.selector[:4], link), func(t *testing.T) {
				// Up to Linux 6.12, perf events at returns run the program for each of the
				// processes that they are of, whichever has returned.
				programs := []*tracee.Program{start(t, exec.Command(path, "at once"))}
				if !strings.HasPrefix(test.selector, "uret") {
					programs = append(programs, start(t, exec.Command(path, "at once")))
				}
				var pids []int
				for _, p := range programs {
					pids = append(pids, p.PID())
				}
				o := &attach.Options{Link: link, Stack: attach.MaxStack, Unwind: unwind, Target: attach.Target{PIDs: pids}}
				a := openAggregate(t, []string{test.selector}, attach.Count().By("stack"), o)
				each := openAggregate(t, []string{test.selector}, attach.Count().By("stack", "pid"), o)
				for _, p := range programs {
					p.Send("")
					if p.Rest(); p.End() != nil {
						t.Fatal("the program failed")
					}
				}
				if d := cmp.Diff(map[string]uint64{test.want: uint64(len(pids)), test.deep: uint64(len(pids))}, byStack(t, readGroups(t, a))); d != "" {
					t.Errorf("by stack (-want +got):\n%s", d)
				}
				want := map[string]uint64{}
				for _, pid := range pids {
					for _, stack := range []string{test.want, test.deep} {
						want[fmt.Sprintf("%s; %d <nil>", stack, pid)] = 1
					}
				}
				if d := cmp.Diff(want, byStack(t, readGroups(t, each))); d != "" {
					t.Errorf("by stack and process (-want +got):\n%s", d)
				}
			})
		}
	}
}

// TestManyStacks checks that there are no more groups than asked for, that none of their events
// is lost, and that groups which are told apart have their stacks, while there are more stacks
// than fit in the map at a time.
func TestManyStacks(t *testing.T) {
	p := provider.New("manystacks", &provider.Options{Local: true})
	t.Cleanup(func() { p.Close() })
	at := provider.NewProbe1[int](p, "at", "depth")
	if err := p.Load(); err != nil {
		t.Fatal(err)
	}
	const most = 1500 // stacks: with a histogram there is room for 1024 until groups are read
	bits := 0
	for 1<<bits < most {
		bits++
	}
	eachWay(t, func(t *testing.T) {
		o := own()
		o.Stack = 20
		a := openAggregate(t, []string{"manystacks:at"}, attach.Hist("depth").By("stack").MaxGroups(50), &o)
		fires := uint64(0)
		for i := range most {
			times := 1
			if i < 10 {
				times = 100
			}
			for range times {
				branching(i, bits, func() { at.Fire(i) })
				fires++
			}
		}
		groups := readGroups(t, a)
		if len(groups) != 51 || !groups[50].Other {
			t.Fatalf("%d groups, want 50 and that of others", len(groups))
		}
		sum := uint64(0)
		for i, g := range groups {
			sum += g.Count
			if i < 10 && g.Count != 100 {
				t.Errorf("group %d has %d events, want 100", i, g.Count)
			}
			if _, ok := g.By[0].Value.(*event.Stack); !ok && !g.Other {
				t.Errorf("group %d has no stack: %v", i, g.By[0].Err)
			}
		}
		if st := checkSum(t, a); sum != fires || st.Lost != 0 {
			t.Errorf("%d events in groups, %d fired: %+v", sum, fires, st)
		}
	})
}

// branching calls fire from a stack that has a frame for each bit of n.
func branching(n, bits int, fire func()) {
	switch {
	case bits == 0:
		fire()
	case n&1 == 0:
		branching(n>>1, bits-1, fire)
	default:
		branching(n>>1, bits-1, fire)
	}
}

// TestByStackRefused checks what has no groups by stack, and says why.
func TestByStackRefused(t *testing.T) {
	for _, test := range []struct {
		what attach.Aggregation
		o    attach.Options
		want string
	}{
		{attach.Count().By("stack"), attach.Options{Unwind: true}, "Unwind"},
		{attach.Count().By("pid"), attach.Options{Stack: 5}, "groups by stack"},
		{attach.Count().By("stack/2"), own(), "stack"},
	} {
		_, err := attach.OpenAggregate(t.Context(), []string{"bystackgo:done"}, test.what, &test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got error %v, want one about %q", err, test.want)
		}
	}
	var option *attach.OptionError
	if _, err := attach.OpenLatency(t.Context(), "a:b", "a:c", &attach.LatencyOptions{By: []string{"pid"}}, &attach.Options{Stack: 1}); !errors.As(err, &option) || option.Option != "Stack" {
		t.Errorf("got error %v, want one in option Stack", err)
	}
	byStackProbes(t)
	_, err := attach.OpenLatency(t.Context(), "bystackgo:begin", "bystackgo:done", &attach.LatencyOptions{Key: []string{"stack"}}, &attach.Options{Target: attach.Target{PIDs: []int{os.Getpid()}, Via: attach.ViaLocal}})
	if err == nil || !errors.Is(err, attach.ErrAggregation) {
		t.Errorf("the stack as key of pairs: got error %v, want one of the aggregation", err)
	}
}
