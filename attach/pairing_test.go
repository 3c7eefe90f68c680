package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
)

func openPairing(t testing.TB, what *attach.LatencyOptions, opts *attach.Options) *attach.Latency {
	t.Helper()
	a, err := latencyBy(t, t.Context(), "pairing:start", "pairing:end", what, opts)
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestLatencyOfGoroutines compares groups with the counts of a service. The
// service handles each connection in a goroutine, which changes threads during a
// request.
func TestLatencyOfGoroutines(t *testing.T) { everyWay(t, checkLatencyOfGoroutines) }

func checkLatencyOfGoroutines(t *testing.T) {
	const connections, requests = 16, 20
	p := startChild(t, "pairing")
	p.Do("load")
	a := openPairing(t, &attach.LatencyOptions{By: []string{"path"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	truth := filepath.Join(t.TempDir(), "truth")
	p.Do("serve %d %d %s", connections, requests, truth)
	text, err := os.ReadFile(truth)
	if err != nil {
		t.Fatal(err)
	}
	var served, inner, outer uint64
	fmt.Sscan(string(text), &served, &inner, &outer)
	groups, err := a.Read()
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %+v, error %v, want one", groups, err)
	}
	g := groups[0]
	if g.Count != served || served != connections*requests || g.By[0].Value != "/served" {
		t.Errorf("%d pairs of %v, want %d", g.Count, g.By, served)
	}
	if sum := g.Sum.(uint64); sum < inner || sum > outer {
		t.Errorf("%v in all, the service says from %v to %v", time.Duration(sum), time.Duration(inner), time.Duration(outer))
	}
	t.Logf("on average %.1f µs, the service says from %.1f to %.1f", g.Avg.(float64)/1e3, float64(inner)/float64(served)/1e3, float64(outer)/float64(served)/1e3)
	if pairs, err := a.Pairs(); err != nil || pairs != (attach.PairStats{Pairs: served}) {
		t.Errorf("%+v, %v, want %d pairs and nothing else", pairs, err, served)
	}
	checkSum(t, a)
}

// TestLatencyNests checks that pairs within pairs are matched level by level,
// also where a condition lets only some pass.
func TestLatencyNests(t *testing.T) { everyWay(t, checkLatencyNests) }

func checkLatencyNests(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	const nesting = 32 // as PairStats says
	const deeper = nesting + 8
	for _, test := range []struct {
		where    string
		commands []string
		want     attach.PairStats
	}{
		{"", []string{"nest 32 500"}, attach.PairStats{Pairs: 32}},
		{"", []string{fmt.Sprintf("nest %d 500", deeper)}, attach.PairStats{Pairs: nesting, TooDeep: 8, Unstarted: 8}},
		{"code >= 500", []string{"nest 2 500", "nest 2 500"}, attach.PairStats{Pairs: 2, Dropped: 2}},
		{`path == "/2"`, []string{"nest 3 500"}, attach.PairStats{Pairs: 1, Dropped: 2}},
		{`code == 200 && path != "/1"`, []string{"nest 3 500"}, attach.PairStats{Pairs: 1, Dropped: 2}},
		{"id > 1", []string{"nest 3 500"}, attach.PairStats{Pairs: 2, Dropped: 1}},
		{"", []string{"end 1", "nest 1 200"}, attach.PairStats{Pairs: 1, Unstarted: 1}},
		{"", []string{"start 1", "nest 1 200"}, attach.PairStats{Pairs: 1, Pending: 1}},
		{"", []string{"skip 3", "nest 2 200", "nest 2 200"}, attach.PairStats{Pairs: 4, Pending: 3}},
	} {
		a := openPairing(t, nil, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where})
		for _, command := range test.commands {
			p.Do("%s", command)
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		var n uint64
		for _, g := range groups {
			n += g.Count
		}
		pairs, err := a.Pairs()
		if d := cmp.Diff(test.want, pairs); d != "" || err != nil || n != pairs.Pairs {
			t.Errorf("%q of %q: %d read, error %v, pairs (-want +got):\n%s", test.where, test.commands, n, err, d)
		}
		if st := checkSum(t, a); st.Unmatched != pairs.Pending+pairs.Unstarted || st.Lost != pairs.TooDeep || st.Received != 2*pairs.Pairs {
			t.Errorf("stats %+v of %+v", st, pairs)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLatencyFlat checks that a start takes the place of the one that waits where starts do not nest,
// also one that does not pass the condition.
func TestLatencyFlat(t *testing.T) { everyWay(t, checkLatencyFlat) }

func checkLatencyFlat(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	for _, test := range []struct {
		where    string
		commands []string
		want     attach.PairStats
	}{
		{"", []string{"nest 40 500"}, attach.PairStats{Pairs: 1, Replaced: 39, Unstarted: 39}},
		{"", []string{"skip 3", "nest 1 200", "nest 1 200"}, attach.PairStats{Pairs: 2, Replaced: 2, Pending: 1}},
		{"", []string{"nest 1 200", "skip 3"}, attach.PairStats{Pairs: 1, Replaced: 2, Pending: 1}},
		{`path == "/2"`, []string{"nest 3 500"}, attach.PairStats{Dropped: 1, Replaced: 2, Unstarted: 2}},
		{`path == "/1"`, []string{"nest 3 500"}, attach.PairStats{Pairs: 1, Replaced: 2, Unstarted: 2}},
	} {
		a := openPairing(t, &attach.LatencyOptions{Flat: true, By: []string{"path"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where})
		for _, command := range test.commands {
			p.Do("%s", command)
		}
		groups, err := a.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if strings.HasPrefix(test.commands[0], "nest 3") && g.By[0].Value != "/1" {
				t.Errorf("%q of %q: a group of %v, want that of the last start", test.where, test.commands, g.By)
			}
		}
		pairs, err := a.Pairs()
		if d := cmp.Diff(test.want, pairs); d != "" || err != nil {
			t.Errorf("%q of %q: error %v, pairs (-want +got):\n%s", test.where, test.commands, err, d)
		}
		if st := checkSum(t, a); st.Unmatched != pairs.Pending+pairs.Unstarted+pairs.Replaced || st.Lost != 0 || st.Received != 2*pairs.Pairs {
			t.Errorf("stats %+v of %+v", st, pairs)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPairsFlat checks that such pairs have the last of several starts, recorded by programs and matched
// among single events.
func TestPairsFlat(t *testing.T) { sharedToo(t, checkPairsFlat) }

func checkPairsFlat(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	work := func() {
		for _, command := range []string{"skip 2", "nest 3 500", "nest 1 500"} {
			p.Do("%s", command)
		}
	}
	s := pairsBy(t, t.Context(), "pairing:start", "pairing:end", &attach.PairOptions{Flat: true}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	work()
	pairs, counts := endPairs(t, s)
	if want := (attach.PairStats{Pairs: 2, Replaced: 3, Pending: 1, Unstarted: 2}); counts != want || len(pairs) != 2 {
		t.Fatalf("%d pairs, counts %+v, want %+v", len(pairs), counts, want)
	}
	for i := range pairs { // calls count downwards
		if got := pairs[i].Start.Args[1].Value; got != "/1" {
			t.Errorf("pair %d starts with %v, want the last call", i, got)
		}
	}

	flat := attach.Span{Start: "pairing:start", End: "pairing:end", Flat: true}
	some := flat
	some.Where = "code == 500"
	spans := openSpans(t, nil, &attach.SpanOptions{Spans: []attach.Span{flat, some}}, by(t, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}))
	work()
	spans.Stop()
	var starts [2][]any
	for one, err := range spans.All() {
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range one.Pairs {
			starts[pair.Span] = append(starts[pair.Span], pair.Start.Args[1].Value)
		}
	}
	if d := cmp.Diff([2][]any{{"/1", "/1"}, {"/1"}}, starts); d != "" {
		t.Errorf("starts of both spans (-want +got):\n%s", d)
	}
	for i, want := range []attach.PairStats{{Pairs: 2, Replaced: 3, Pending: 1, Unstarted: 2}, {Pairs: 1, Dropped: 1, Replaced: 3, Pending: 1, Unstarted: 2}} {
		if got := spans.Counts(i); got != want {
			t.Errorf("span %d: counts %+v, want %+v", i, got, want)
		}
	}
}

// TestLatencyKeys matches by an argument within each process, and across the
// machine.
func TestLatencyKeys(t *testing.T) { everyWay(t, checkLatencyKeys) }

func checkLatencyKeys(t *testing.T) {
	a, b := startChild(t, "pairing"), startChild(t, "pairing")
	a.Do("load")
	b.Do("load")
	for _, test := range []struct {
		key  []string
		want attach.PairStats
	}{
		{[]string{"id"}, attach.PairStats{Pairs: 1, Pending: 1, Unstarted: 1}},
		{[]string{"id", "pid"}, attach.PairStats{Pairs: 1, Pending: 1, Unstarted: 1}},
		{[]string{"machine", "id"}, attach.PairStats{Pairs: 2}},
	} {
		l := openPairing(t, &attach.LatencyOptions{Key: test.key}, &attach.Options{Target: attach.Target{PIDs: []int{a.PID(), b.PID()}}})
		a.Do("start 7")
		b.Do("end 7")
		b.Do("start 8")
		b.Do("end 8")
		if _, err := l.Read(); err != nil {
			t.Fatal(err)
		}
		if pairs, err := l.Pairs(); err != nil || pairs != test.want {
			t.Errorf("by %v: %+v, %v, want %+v", test.key, pairs, err, test.want)
		}
		checkSum(t, l)
	}
}

// TestLatencyBy groups by arguments of the end, and of the start where the end
// lacks them.
func TestLatencyBy(t *testing.T) { everyWay(t, checkLatencyBy) }

func checkLatencyBy(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	a := openPairing(t, &attach.LatencyOptions{By: []string{"code", "path", "probe"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("nest 3 500")
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, g := range groups {
		got[fmt.Sprint(g.By[0].Value, g.By[1].Value, g.By[2].Value)] = g.Count
	}
	want := map[string]uint64{fmt.Sprint(int64(500), "/3", "pairing:end"): 1, fmt.Sprint(int64(200), "/2", "pairing:end"): 1, fmt.Sprint(int64(200), "/1", "pairing:end"): 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("groups (-want +got):\n%s", d)
	}
}

// TestLatencyOfGoFunctions matches functions of a Go program by goroutine.
func TestLatencyOfGoFunctions(t *testing.T) { eachWay(t, checkLatencyOfGoFunctions) }

func checkLatencyOfGoFunctions(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := startChild(t, "pairing")
	function := func(name string) string { return "uprobe:" + path + ":github.com/go-usdt/usdt/attach_test." + name }
	a, err := latencyBy(t, t.Context(), function("pairBegin"), function("pairFinish"), nil, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer a.Close()
	for range 3 {
		p.Do("call 1")
	}
	if pairs, err := a.Pairs(); err != nil || pairs != (attach.PairStats{Pairs: 3}) {
		t.Errorf("%+v, %v, want 3 pairs", pairs, err)
	}
}

// TestLatencyWithoutKey checks that OpenLatency does not guess how starts and
// ends are matched.
func TestLatencyWithoutKey(t *testing.T) { eachWay(t, checkLatencyWithoutKey) }

func checkLatencyWithoutKey(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	library := build(t, "functions.c", "gcc", "-O2")
	for _, key := range [][]string{nil, {"tid"}} {
		a, err := latencyBy(t, t.Context(), "pairing:start", "uprobe:"+library+":negative", &attach.LatencyOptions{Key: key}, nil)
		needPrivileges(t, err)
		if key != nil {
			if err != nil {
				t.Errorf("by %v: %v", key, err)
				continue
			}
			a.Close()
			continue
		}
		if !errors.Is(err, attach.ErrAggregation) || !strings.Contains(err.Error(), "--key") {
			t.Errorf("error %v, want one that names --key", err)
		}
	}
}

// TestLatencyOfCalls matches returns with their calls: a call that longjmp left
// has no return, and each of any number of recursive calls has one.
func TestLatencyOfCalls(t *testing.T) { eachWay(t, checkLatencyOfCalls) }

func checkLatencyOfCalls(t *testing.T) {
	path := build(t, "jumps.c", "gcc", "-O0")
	p := start(t, exec.Command(path))
	const times, levels = 3, 50
	for _, test := range []struct {
		functions string
		by        []string
		want      attach.PairStats
	}{
		{"depth", nil, attach.PairStats{Pairs: times * (levels + 1)}},
		{"*er", []string{"probe"}, attach.PairStats{Pairs: times, Pending: times * levels}},
		{"*er", []string{"arg0"}, attach.PairStats{Pairs: times, Pending: times * levels}},
	} {
		a, err := latencyBy(t, t.Context(), "uprobe:"+path+":"+test.functions, "uretprobe:"+path+":"+test.functions, &attach.LatencyOptions{By: test.by}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
		if err != nil {
			needPrivileges(t, err)
			t.Fatal(err)
		}
		defer a.Close()
		for range times {
			if got := p.Do("%s", fmt.Sprint(levels)); got != fmt.Sprint(levels) {
				t.Fatalf("the program says %q", got)
			}
		}
		groups, err := a.Read()
		if err != nil || len(groups) != 1 {
			t.Fatalf("%s: %+v, error %v, want one group", test.functions, groups, err)
		}
		// Matched with the start of another call, the time would be almost 0.
		if least := time.Duration(groups[0].Min.(uint64)); test.by != nil && least < 20*time.Millisecond {
			t.Errorf("%s: the least is %v, want 20ms", test.functions, least)
		}
		if test.by != nil && test.by[0] == "arg0" && groups[0].By[0].Value != int64(levels) {
			t.Errorf("%s: by %v, want %d", test.functions, groups[0].By, levels)
		}
		if pairs, err := a.Pairs(); err != nil || pairs != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.functions, pairs, err, test.want)
		}
		checkSum(t, a)
	}
}
