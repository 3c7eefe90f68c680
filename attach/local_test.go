package attach_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/internal/systest/tracee"
	"github.com/go-usdt/usdt/provider"
)

func init() {
	roles["localtracer"] = tracerRole
	roles["localeach"] = tracee.Obey(localEachChild())
}

// localEachChild fires a probe of a provider that no other test traces or declares.
func localEachChild() func(string) error {
	p := provider.New("localeach", nil)
	fired := provider.NewProbe0(p, "fired")
	return func(command string) error {
		if command == "load" {
			return p.Load()
		}
		fired.Fire()
		return nil
	}
}

// tracerRole traces what its arguments name, PID and selectors, until a line comes. It
// writes the way by which events come, and then events as JSON, groups and statistics.
func tracerRole(args []string) error {
	var pid int
	if _, err := fmt.Sscan(args[0], &pid); err != nil {
		return err
	}
	o := &attach.Options{Target: attach.Target{PIDs: []int{pid}}}
	s, err := attach.Open(context.Background(), args[1:], o)
	if missing := (*attach.PrivilegeError)(nil); errors.As(err, &missing) {
		return fmt.Errorf("privileges are missing: %w", err)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	counts, err := attach.OpenAggregate(context.Background(), args[1:], attach.Count().By("probe"), o)
	if err != nil {
		return err
	}
	defer counts.Close()
	fmt.Println(s.Via())
	fmt.Scanln()
	if err := s.Stop(); err != nil {
		return err
	}
	for ev, err := range s.Events() {
		if err != nil {
			return err
		}
		fmt.Println(ev.Provider, ev.Name, ev.Args)
	}
	groups, err := counts.Read()
	if err != nil {
		return err
	}
	for _, g := range groups {
		fmt.Println(g.Count, g.By[0].Value)
	}
	st, err := s.Stats()
	fmt.Printf("%+v\n", st)
	return err
}

// TestLocalUnprivileged traces as a user without any capability, who names no way.
func TestLocalUnprivileged(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	p := start(t, become(t, tracee.Self("typed"), nobody))
	p.Do("load")
	tracer := start(t, become(t, tracee.Self("localtracer", fmt.Sprint(p.PID()), "typed:bare", "typed:text"), nobody))
	if got := tracer.Line(); got != "local" {
		t.Errorf("events come by way %q, want local", got)
	}
	p.Do("bare")
	p.Do("text")
	tracer.Send("")
	got := tracer.Rest()
	for _, want := range []string{"typed bare []\n", "\n4 typed:text\n1 typed:bare\n{Fired:5 Received:5 Lost:0 Filtered:0 Missed:0 Unread:0 Unmatched:0 Full:0 Contended:0 Ended:0 Untold:0 Silent:0 Found:2 Late:0 Lateness:0s}\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %s, want %s", got, want)
		}
	}
}

// TestLocalRefused checks what users are told whom the kernel does not let read a
// process, or whose process offers nothing.
func TestLocalRefused(t *testing.T) {
	for _, test := range []struct {
		name, local string
		tracer      uint32
		want        []string
	}{
		{"not offered", "", nobody, []string{"privileges are missing: ", "this process lacks CAP_BPF and CAP_PERFMON", "; and without privileges: ", "does not offer its probes through shared memory: a Go service that declares its probes by package provider would have to run with USDT_LOCAL=1"}},
		{"another user's", "1", somebody, []string{"privileges are missing: ", "lacks CAP_SYS_PTRACE"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("USDT_LOCAL", test.local)
			p := start(t, become(t, tracee.Self("typed"), nobody))
			p.Do("load")
			tracer := start(t, become(t, tracee.Self("localtracer", fmt.Sprint(p.PID()), "typed:*"), test.tracer))
			if line, err := tracer.Next(); err == nil {
				t.Fatalf("it traces, and says %q", line)
			}
			err := tracer.End()
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// asJSON returns an event as JSON, without what differs between two tracers of one
// firing: the time, and the thread, which events in shared memory lack.
func asJSON(t testing.TB, ev event.Event) string {
	t.Helper()
	ev.TID, ev.Time = 0, time.Time{}
	b, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, b, "", " "); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestLocalJSON compares the JSON of the same firings by both ways, for every kind of
// argument and of record.
func TestLocalJSON(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	for _, test := range []struct {
		role, selector string
		commands       []string
		kept           int // bytes of each text; 0 for the default
		opts           attach.Options
	}{
		{"typed", "typed:*", []string{"ints", "others", "text", "bare"}, 0, attach.Options{}},
		{"typed", "typed:*", []string{"ints", "others", "text", "bare"}, 10, attach.Options{}},
		{"nested", "nest:record", []string{"fire"}, 0, attach.Options{}},
		{"nested", "nest:record", []string{"fire"}, 3, attach.Options{Follow: []string{"*"}}},
		{"nested", "nest:record", []string{"fire"}, 0, attach.Options{Follow: []string{"Up", "Up.Next", "Up.Next.Next", "Title"}}},
		{"nested", "nest:record", []string{"fire"}, 2, attach.Options{Where: `Up.Host == "up"`}},
		{"where", "where:*", []string{"num", "text", "rec"}, 0, attach.Options{}},
		{"where", "where:text", []string{"text"}, 4, attach.Options{Where: `comm == "exe"`}},
		{"aggregate", "agg:*", []string{"fire 1"}, 0, attach.Options{}},
		{"keys", "keys:*", []string{"fire"}, 0, attach.Options{Follow: []string{"Name"}}},
	} {
		t.Run(fmt.Sprintf("%s %d %+v", test.role, test.kept, test.opts), func(t *testing.T) {
			p := startChild(t, test.role)
			p.Do("load")
			var texts [2][]string
			var sessions [2]*attach.Session
			for i, via := range []attach.Via{attach.ViaKernel, attach.ViaLocal} {
				o := test.opts
				o.Target = attach.Target{PIDs: []int{p.PID()}, Via: via}
				sessions[i] = openEvents(t, test.selector, &attach.EventOptions{MaxString: test.kept, RingSize: 16 << 20}, &o)
			}
			for _, c := range test.commands {
				p.Do("%s", c)
			}
			for i, s := range sessions {
				for _, ev := range drain(t, s) {
					texts[i] = append(texts[i], asJSON(t, ev))
				}
				checkSum(t, s)
			}
			if len(texts[0]) == 0 {
				t.Error("nothing fires")
			}
			if d := cmp.Diff(texts[0], texts[1]); d != "" {
				t.Errorf("via the kernel and through shared memory (-kernel +local):\n%.5000s", d)
			}
		})
	}
}

// TestViaBoth traces a process that offers its probes and one that does not in one
// session.
func TestViaBoth(t *testing.T) {
	plain := startChild(t, "aggregate")
	t.Setenv("USDT_LOCAL", "1")
	offers := startChild(t, "aggregate")
	plain.Do("load")
	offers.Do("load")
	o := &attach.Options{Target: attach.Target{PIDs: []int{plain.PID(), offers.PID()}, Via: attach.ViaBoth}, Where: "status > 0"}
	s := open(t, "agg:*", o)
	sums := openAggregate(t, []string{"agg:done"}, attach.Sum("status").By("pid"), o)
	for _, site := range s.Plan() {
		if !site.Attached || site.Local != (site.PID == offers.PID()) {
			t.Errorf("process %d, which is one of %d and, with an offer, %d: %+v", site.PID, plain.PID(), offers.PID(), site)
		}
	}
	plain.Do("fire 1")
	offers.Do("fire 1")
	counts := map[int]int{}
	for _, ev := range drain(t, s) {
		counts[ev.PID]++
		if (ev.TID == 0) != (ev.PID == offers.PID()) {
			t.Fatalf("event %+v", ev)
		}
	}
	st := checkSum(t, s)
	if st.Fired != 2*aggregateEvents*11/10 || st.Lost != 0 || counts[plain.PID()] == 0 || counts[plain.PID()] != counts[offers.PID()] {
		t.Errorf("%d events, stats %+v", counts, st)
	}
	groups, err := sums.Read()
	if err != nil || len(groups) != 2 || groups[0].Sum != groups[1].Sum || groups[0].Count != groups[1].Count {
		t.Errorf("groups %+v, %v", groups, err)
	}
	if err := sums.Close(); err != nil {
		t.Error(err)
	}
	if st := checkSum(t, sums); st.Fired != 2*aggregateEvents {
		t.Errorf("stats %+v", st)
	}
}

// TestViaBothLatency matches starts and ends of both processes.
func TestViaBothLatency(t *testing.T) {
	plain := startChild(t, "pairing")
	t.Setenv("USDT_LOCAL", "1")
	offers := startChild(t, "pairing")
	var pids []int
	for _, p := range []*tracee.Program{plain, offers} {
		p.Do("load")
		pids = append(pids, p.PID())
	}
	a := openPairing(t, &attach.LatencyOptions{By: []string{"path", "pid"}}, &attach.Options{Target: attach.Target{PIDs: pids, Via: attach.ViaBoth}})
	plain.Do("nest 3 200")
	offers.Do("nest 3 200")
	offers.Do("start 1")
	plain.Do("end 1")
	if pairs, err := a.Pairs(); err != nil || pairs != (attach.PairStats{Pairs: 6, Pending: 1, Unstarted: 1}) {
		t.Errorf("%+v, %v", pairs, err)
	}
	groups, err := a.Read()
	if err != nil || len(groups) != 6 {
		t.Errorf("groups %+v, %v", groups, err)
	}
	checkSum(t, a)
}

// TestLocalMachine traces all processes that offer their probes: the present ones, and
// later ones. Processes that end leave the plan, but not their events.
func TestLocalMachine(t *testing.T) {
	o := &attach.Options{Target: attach.Target{Via: attach.ViaLocal}, Rescan: time.Hour}
	if _, err := attach.Open(t.Context(), []string{"machine:*"}, o); !errors.Is(err, attach.ErrNoMatch) {
		t.Errorf("without a process: %v, want that nothing matches", err)
	}
	t.Setenv("USDT_LOCAL", "1")
	first := startChild(t, "localeach")
	first.Do("load")
	s := open(t, "localeach:fired", o)
	second := startChild(t, "localeach")
	second.Do("load")
	first.Do("fire")
	if err := s.Rescan(); err != nil {
		t.Fatal(err)
	}
	second.Do("fire")
	pids := func() (pids []int) {
		for _, site := range s.Plan() {
			if site.Attached {
				pids = append(pids, site.PID)
			}
		}
		slices.Sort(pids)
		return pids
	}
	both := []int{first.PID(), second.PID()}
	slices.Sort(both)
	if got := pids(); !slices.Equal(got, both) {
		t.Errorf("processes %d are traced, want %d: %+v", got, both, s.Plan())
	}
	first.Kill()
	next, stop := pull(s)
	defer stop()
	for range 2 {
		if ev, err := next(); err != nil || !slices.Contains(both, ev.PID) {
			t.Fatalf("event %+v, %v", ev, err)
		}
	}
	for deadline := time.Now().Add(time.Minute); len(pids()) > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes %d are traced, want %d", pids(), second.PID())
		}
		s.Idle() // looks at the rings
		if err := s.Rescan(); err != nil {
			t.Fatal(err)
		}
	}
	second.Do("fire")
	if ev, err := next(); err != nil || ev.PID != second.PID() {
		t.Errorf("event %+v, %v, want one of process %d", ev, err, second.PID())
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if st := checkSum(t, s); st.Fired != 3 || st.Received != 3 {
		t.Errorf("stats %+v, want 3 events", st)
	}
}

// TestLocalLater traces probes that a process declares later, and checks that a tracer
// without a process waits for one.
func TestLocalLater(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	p := startChild(t, "typed")
	o := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}, Rescan: time.Millisecond, Await: true}
	s := open(t, "typed:*", o)
	if n := s.Plan().Attached(); n != 0 {
		t.Fatalf("%d sites before there is one", n)
	}
	p.Do("load")
	for deadline := time.Now().Add(time.Minute); s.Plan().Attached() != 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("plan %+v, want 4 sites", s.Plan())
		}
		runtime.Gosched()
	}
	p.Do("bare")
	if events := drain(t, s); len(events) != 1 {
		t.Errorf("events %+v, want one", events)
	}
}

// TestLocalKilled kills a process that fires as fast as it can: what it had recorded is
// received, and everything is counted.
func TestLocalKilled(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		p := startChild(t, "aggregate")
		p.Do("load")
		s := open(t, "agg:*", &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}})
		p.Send("fire 4")
		next, stop := pull(s)
		for n := 0; ; n++ {
			_, err := next()
			if n == 100 {
				p.Kill()
			}
			if err != nil {
				break // the events end with the process
			}
		}
		stop()
		if st := checkSum(t, s); st.Received < 100 {
			t.Errorf("stats %+v", st)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalThreads checks that nobody is promised the thread of local events.
func TestLocalThreads(t *testing.T) {
	t.Setenv("USDT_LOCAL", "1")
	p := startChild(t, "where")
	p.Do("load")
	target := attach.Target{PIDs: []int{p.PID()}, Via: attach.ViaLocal}
	const want = "events that come through shared memory do not say in which thread they fired"
	_, err := attach.Open(t.Context(), []string{"where:num"}, &attach.Options{Target: target, Where: "tid > 0"})
	if where := (*attach.WhereError)(nil); !errors.As(err, &where) || !strings.Contains(where.Msg, want) {
		t.Errorf("where: %v", err)
	}
	if _, err := attach.OpenAggregate(t.Context(), []string{"where:num"}, attach.Count().By("tid"), &attach.Options{Target: target}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("by: %v", err)
	}
}
