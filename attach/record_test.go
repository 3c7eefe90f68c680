package attach_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/total"
)

// recording is a file that is being written.
type recording struct {
	*attach.Recorder
	path  string
	ended chan error
}

// startRecord records to a file, the way of the test.
func startRecord(t testing.TB, selectors []string, opts *attach.Options) *recording {
	t.Helper()
	return startRecordOf(t, selectors, nil, opts)
}

func startRecordOf(t testing.TB, selectors []string, what *attach.RecordOptions, opts *attach.Options) *recording {
	t.Helper()
	r, err := attach.Record(t.Context(), selectors, what, by(t, opts))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	out := &recording{r, filepath.Join(t.TempDir(), "events"), make(chan error, 1)}
	file, err := os.Create(out.path)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer file.Close()
		out.ended <- r.Write(file, nil)
	}()
	return out
}

// end ends the recording, and returns the options that read it.
func (r *recording) end(t testing.TB) *attach.Options {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	return &attach.Options{Target: attach.Target{Recordings: []string{r.path}}}
}

// withoutTime returns an event as JSON, without what differs between two sessions.
func withoutTime(t testing.TB, ev event.Event) string {
	tid := ev.TID
	return fmt.Sprintf("%d %s", tid, asJSON(t, ev))
}

// TestRecord compares the events of a file with those of a session that ran at the same
// time.
func TestRecord(t *testing.T) {
	for _, test := range []struct {
		role     string
		selector string
		commands []string
		kept     int // bytes of each text; 0 for the default
		opts     attach.Options
	}{
		{"typed", "typed:*", []string{"ints", "others", "text", "bare"}, 0, attach.Options{}},
		{"typed", "typed:*", []string{"text"}, 10, attach.Options{}},
		{"nested", "nest:record", []string{"fire"}, 50, attach.Options{Follow: []string{"*"}}},
		{"where", "where:*", []string{"num", "text", "rec"}, 100, attach.Options{}},
		{"where", "where:num", []string{"num"}, 0, attach.Options{Where: `u > 100 && comm == "exe"`}},
	} {
		t.Run(fmt.Sprintf("%s %d %s", test.role, test.kept, test.opts.Where), func(t *testing.T) {
			sharedToo(t, func(t *testing.T) {
				compareEvents(t, startChild(t, test.role), test.selector, test.commands, test.kept, test.opts)
			})
		})
	}
}

// doer obeys commands.
type doer interface {
	Do(format string, args ...any) string
	PID() int
}

func compareEvents(t *testing.T, p doer, selector string, commands []string, kept int, opts attach.Options) {
	t.Helper()
	opts.Target.PIDs = []int{p.PID()}
	if commands[0] != "" {
		p.Do("load")
	}
	live := openEvents(t, selector, &attach.EventOptions{MaxString: kept}, &opts)
	saved := startRecordOf(t, []string{selector}, &attach.RecordOptions{MaxString: kept}, &opts)
	began := time.Now()
	for _, c := range commands {
		p.Do("%s", c)
	}
	o := saved.end(t)
	second := filepath.Join(t.TempDir(), "second")
	if err := os.Symlink(saved.path, second); err != nil {
		t.Fatal(err)
	}
	o.Target.Recordings = append(o.Target.Recordings, second, saved.path) // to the same events
	var want, got []string
	for _, ev := range drain(t, live) {
		want = append(want, withoutTime(t, ev))
	}
	s := openFile(t, o, "*:*")
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Time.Before(began) || ev.Time.After(time.Now()) {
			t.Errorf("an event of %v, between %v and now", ev.Time, began)
		}
		got = append(got, withoutTime(t, ev))
	}
	checkSum(t, s)
	if len(want) == 0 || s.Via() != attach.ViaRecording {
		t.Errorf("%d events, by way %v", len(want), s.Via())
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("live and recorded (-live +recorded):\n%.5000s", d)
	}
	wanted, plan := live.Plan(), s.Plan()
	for i := range plan {
		if i >= len(wanted) || plan[i].Probe.Name != wanted[i].Probe.Name || plan[i].Probe.Args != wanted[i].Probe.Args || !plan[i].Attached {
			t.Errorf("site %d is %+v", i, plan[i])
		}
	}
}

// openFile opens a file.
func openFile(t testing.TB, o *attach.Options, selectors ...string) *attach.Session {
	t.Helper()
	s, err := attach.Open(t.Context(), selectors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRecordC does so for probes whose objects do not describe their arguments, by both
// links.
func TestRecordC(t *testing.T) {
	path := compile(t, "gcc", "-O2")
	for _, kind := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(kind.String(), func(t *testing.T) {
			p := start(t, exec.Command(path))
			compareEvents(t, p, path+":*:*", []string{"", "", ""}, 5, attach.Options{Link: kind, Strings: []string{"*:text:arg0"}})
		})
	}
}

// TestRecordConditions compares events that pass a condition when they fire with events
// that pass it later.
func TestRecordConditions(t *testing.T) {
	sharedToo(t, func(t *testing.T) {
		p := startChild(t, "where")
		p.Do("load")
		o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
		conditions := []string{`u > 100`, `n % 2 == 1 && comm == "exe"`, fmt.Sprintf("pid == %d", p.PID()), "n + 1 > 4 || i < 0", "f < 0.5 && b"}
		if wayOf(t) == inKernel {
			conditions = append(conditions, fmt.Sprintf("uid == %d && cpu < 1000", os.Getuid()), "tid > 1 && n < 5")
		}
		var sessions []*attach.Session
		for _, where := range conditions {
			o := o
			o.Where = where
			sessions = append(sessions, open(t, "where:num", &o))
		}
		saved := startRecord(t, []string{"where:num"}, &o)
		p.Do("num")
		file := saved.end(t)
		for i, where := range conditions {
			var want, got []string
			for _, ev := range drain(t, sessions[i]) {
				want = append(want, withoutTime(t, ev))
			}
			file.Where = where
			s := openFile(t, file, "where:num")
			for ev, err := range s.Events() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, withoutTime(t, ev))
			}
			if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
				t.Errorf("%s: %d events (-live +recorded):\n%.3000s", where, len(want), d)
			}
		}
	})
}

// TestRecordTotals compares groups of live events with groups that are made of a file.
func TestRecordTotals(t *testing.T) {
	sharedToo(t, func(t *testing.T) {
		p := startChild(t, "aggregate")
		p.Do("load")
		o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
		selectors := []string{"agg:*"}
		sums := []attach.Aggregation{
			attach.Count().By("probe"), attach.Count().By("comm", "pid"),
			attach.Sum("status").And(attach.Avg("status"), attach.Min("status"), attach.Max("status"), attach.Hist("status"), attach.Quantiles("status", 50, 99), attach.Stddev("status")).By("probe"),
			attach.Hist("bytes").Bounds(1, 1<<10, 1<<20, 1<<30).And(attach.Quantiles("bytes", 50, 90, 99.9)).By("path"),
			attach.Sum("ms").And(attach.Hist("ms"), attach.Quantiles("ms", 10, 50)),
		}
		if wayOf(t) == inKernel {
			sums = append(sums, attach.Count().By("tid", "uid", "probe"))
		}
		live := make([]*attach.Aggregate, len(sums))
		for i, what := range sums {
			live[i] = openAggregate(t, selectors, what, &o)
		}
		saved := startRecordOf(t, selectors, &attach.RecordOptions{RingSize: 16 << 20}, &o)
		p.Do("fire 1")
		file := saved.end(t)
		for i, what := range sums {
			want, err := live[i].Read()
			if err != nil {
				t.Fatal(err)
			}
			a, err := attach.OpenAggregate(t.Context(), selectors, what, file)
			if err != nil {
				t.Fatal(err)
			}
			<-a.Done()
			got, err := a.Read()
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].From, got[i].At = time.Time{}, time.Time{}
			}
			if d := cmp.Diff(groupTexts(want), groupTexts(got)); d != "" || len(want) == 0 {
				t.Errorf("aggregation %d (-live +recorded):\n%.3000s", i, d)
			}
			checkSum(t, a)
			a.Close()
		}
	})
}

// groupTexts returns groups as sorted texts.
func groupTexts(groups []total.Group) (out []string) {
	for i := range groups {
		out = append(out, fmt.Sprintf("%+v", groups[i]))
	}
	slices.Sort(out)
	return out
}

// TestRecordPairs compares pairs of live events with those of a file, matched by goroutine
// and by key.
func TestRecordPairs(t *testing.T) {
	sharedToo(t, func(t *testing.T) {
		for _, key := range [][]string{nil, {"id"}} {
			p := startChild(t, "pairing")
			p.Do("load")
			o := attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
			live := openPairing(t, &attach.LatencyOptions{By: []string{"path"}, Key: key}, &o)
			saved := startRecord(t, []string{"pairing:*"}, &o)
			p.Do("nest 3 200")
			file := saved.end(t)
			want, err := live.Read()
			if err != nil || len(want) != 3 {
				t.Fatalf("%d groups, %v", len(want), err)
			}
			latency, err := attach.OpenLatency(t.Context(), "pairing:start", "pairing:end", &attach.LatencyOptions{By: []string{"path"}, Key: key}, file)
			if err != nil {
				t.Fatal(err)
			}
			<-latency.Done()
			got, err := latency.Read()
			latency.Close()
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d groups, %v, want %d", len(got), err, len(want))
			}
			sums := map[string]time.Duration{}
			for i := range got {
				if got[i].Count != want[i].Count {
					t.Errorf("%v: %d pairs, live %d", got[i].By, got[i].Count, want[i].Count)
				}
				sums[fmt.Sprint(got[i].By[0].Value)] = time.Duration(got[i].Sum.(uint64))
			}
			pairs, err := attach.OpenPairs(t.Context(), "pairing:start", "pairing:end", &attach.PairOptions{Key: key}, file)
			if err != nil {
				t.Fatal(err)
			}
			for pair, err := range pairs.All() {
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range pair.Start.Args {
					if a.Name == "path" {
						sums[fmt.Sprint(a.Value)] -= pair.Took
					}
				}
			}
			pairs.Close()
			for path, left := range sums {
				if left != 0 {
					t.Errorf("%s: pairs and their sum differ by %v", path, left)
				}
			}
		}
	})
}

// TestRecordFunctions compares functions and their calls, matched by their frames.
func TestRecordFunctions(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O1", "-g")
	p := start(t, exec.Command(path))
	p.Do("") // main has begun, which is among the functions
	selectors := []string{"uprobe:" + path + ":*", "uretprobe:" + path + ":negative"}
	live := openAll(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}, selectors...)
	calls, err := attach.OpenLatency(t.Context(), "uprobe:"+path+":negative", "uretprobe:"+path+":negative", nil, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	saved := startRecord(t, selectors, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("")
	file := saved.end(t)
	var want, got []string
	for _, ev := range drain(t, live) {
		want = append(want, withoutTime(t, ev))
	}
	for ev, err := range openFile(t, file, selectors...).Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, withoutTime(t, ev))
	}
	if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
		t.Errorf("%d events (-live +recorded):\n%.3000s", len(want), d)
	}
	wanted, err := calls.Read()
	if err != nil || len(wanted) != 1 {
		t.Fatalf("%+v, %v", wanted, err)
	}
	again, err := attach.OpenLatency(t.Context(), "uprobe:"+path+":negative", "uretprobe:"+path+":negative", nil, file)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	<-again.Done()
	if groups, err := again.Read(); err != nil || len(groups) != 1 || groups[0].Count != wanted[0].Count {
		t.Errorf("%+v, %v, want %d calls", groups, err, wanted[0].Count)
	}
	if _, err := attach.Open(t.Context(), []string{"uprobe:" + path + ":none"}, file); err == nil || !strings.Contains(err.Error(), "no probe matches") {
		t.Errorf("a function that is not there: %v", err)
	}
}
