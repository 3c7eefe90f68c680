package attach_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// pairsBy opens Pairs the way of the test.
func pairsBy(t testing.TB, ctx context.Context, start, end string, what *attach.PairOptions, opts *attach.Options) *attach.Pairs {
	t.Helper()
	p, err := attach.OpenPairs(ctx, start, end, what, by(t, opts))
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// endPairs stops p and returns its pairs and what became of the others. It checks that all
// events are accounted for.
func endPairs(t testing.TB, p *attach.Pairs) ([]attach.Pair, attach.PairStats) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	var all []attach.Pair
	for pair, err := range p.All() {
		if err != nil {
			t.Fatal(err)
		}
		if took := pair.End.Time.Sub(pair.Start.Time); took != pair.Took || took < 0 {
			t.Errorf("a pair took %v, and %v by its times", pair.Took, took)
		}
		all = append(all, pair)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	counts, err := p.Counts()
	if err != nil {
		t.Error(err)
	}
	st, err := p.Stats()
	if err != nil || st.Fired != st.Received+st.Lost+st.Filtered+st.Missed+st.Unread || st.Received != 2*uint64(len(all)) {
		t.Errorf("stats %+v, error %v, do not add up for %d pairs", st, err, len(all))
	}
	return all, counts
}

// inBrief writes the arguments of a pair.
func inBrief(p attach.Pair) string {
	args := func(ev event.Event) string {
		var out []string
		for _, a := range ev.Args {
			out = append(out, fmt.Sprintf("%s=%v", a.Name, a.Value))
		}
		return strings.Join(out, " ")
	}
	return p.Start.Name + " " + args(p.Start) + ", " + p.End.Name + " " + args(p.End)
}

// TestPairs compares pairs with what the traced program did, by keys and with conditions;
// and slow pairs with the times of all.
func TestPairs(t *testing.T) { sharedToo(t, checkPairs) }

func checkPairs(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	const (
		one   = "start id=1 path=one, end id=1 path=one code=500"
		two   = "start id=2 path=two, end id=2 path=two code=200"
		three = "start id=3 path=three, end id=3 path=three code=200"
	)
	for _, test := range []struct {
		key, where string
		want       []string
		counts     attach.PairStats
	}{
		{"id", "", []string{two, three, one}, attach.PairStats{Pairs: 3, Pending: 2, Unstarted: 1}},
		{"path,id", "", []string{two, three, one}, attach.PairStats{Pairs: 3, Pending: 2, Unstarted: 1}},
		{"id", `code == 200 && path ~ "t*"`, []string{two, three}, attach.PairStats{Pairs: 2, Dropped: 1, Pending: 2, Unstarted: 1}},
		{"id & 7,path[:2]", "", []string{two, three, one}, attach.PairStats{Pairs: 3, Pending: 2, Unstarted: 1}},
		{"path", `code == 500 && id < 3`, []string{one}, attach.PairStats{Pairs: 1, Dropped: 2, Pending: 2, Unstarted: 1}},
	} {
		t.Run(test.key+test.where, func(t *testing.T) {
			// Two of the three take 60 ms at least, the other 120 ms.
			const slower = 90 * time.Millisecond
			key, opts := strings.Split(test.key, ","), &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: test.where}
			all := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: key}, opts)
			slow := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: key, Slower: slower}, opts)
			for _, command := range []string{"start 1 one", "start 2 two", "sleep 60", "end 2 two 200", "end 2 two 200", "start 3 three", "start 3 three", "sleep 60", "end 3 three 200", "end 1 one 500", "start 4 four"} {
				p.Do("%s", command)
			}
			pairs, counts := endPairs(t, all)
			var got, wantSlow, unsure []string
			for _, pair := range pairs {
				got = append(got, inBrief(pair))
				if pair.Start.Args[0].Value == uint64(1) && (pair.Took < 120*time.Millisecond || pair.Took > time.Minute) {
					t.Errorf("%s took %v, want at least 120ms", inBrief(pair), pair.Took)
				}
				switch margin := pair.Took - slower; {
				case margin.Abs() < 15*time.Millisecond: // the other session may see it differently
					unsure = append(unsure, inBrief(pair))
				case margin > 0:
					wantSlow = append(wantSlow, inBrief(pair))
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("pairs (-want +got):\n%s", d)
			}
			if counts != test.counts {
				t.Errorf("counts %+v, want %+v", counts, test.counts)
			}
			pairs, counts = endPairs(t, slow)
			var gotSlow []string
			for _, pair := range pairs {
				if !slices.Contains(unsure, inBrief(pair)) {
					gotSlow = append(gotSlow, inBrief(pair))
				}
			}
			if d := cmp.Diff(wantSlow, gotSlow); d != "" {
				t.Errorf("slow pairs (-want +got):\n%s", d)
			}
			test.counts.Fast = test.counts.Pairs - uint64(len(pairs))
			if counts != test.counts {
				t.Errorf("counts of slow pairs %+v, want %+v", counts, test.counts)
			}
		})
	}
}

// TestWaiting checks which starts have waited longer than a time: by whom, with which arguments, and
// for how long.
func TestWaiting(t *testing.T) { sharedToo(t, checkWaiting) }

func checkWaiting(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	for where, want := range map[string]string{"": "start id=1 path=one, start id=5 path=five", `path != "one" && code != 500`: "start id=5 path=five"} {
		opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: where}
		pairs := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}, Slower: time.Hour}, opts)
		began := time.Now()
		for _, command := range []string{"start 1 one", "start 2 two", "start 5 five", "end 2 two 200", "sleep 60"} {
			p.Do("%s", command)
		}
		if err := pairs.Stop(); err != nil {
			t.Fatal(err)
		}
		longest := time.Since(began)
		time.Sleep(longest) // in which ends would not be seen
		for pair, err := range pairs.All() {
			t.Errorf("a pair %s, error %v", inBrief(pair), err)
		}
		waiting, err := pairs.Waiting(50 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range waiting {
			w := &waiting[i]
			got = append(got, strings.TrimSuffix(inBrief(*w), ",  "))
			if w.Took < 60*time.Millisecond || w.Took > longest || w.Start.PID != p.PID() || i > 0 && w.Took > waiting[i-1].Took {
				t.Errorf("%s of process %d has waited %v since %v", inBrief(*w), w.Start.PID, w.Took, w.Start.Time)
			}
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("where %q: waiting are %s, want %s", where, got, want)
		}
		if young, err := pairs.Waiting(time.Hour); err != nil || len(young) > 0 {
			t.Errorf("%d starts have waited for an hour, %v", len(young), err)
		}
		if b, err := json.Marshal(waiting[:1]); err != nil || !strings.HasSuffix(string(b), `,"end":null}]`) {
			t.Errorf("in JSON a start is %s, %v", b, err)
		} else if back := []attach.Pair(nil); json.Unmarshal(b, &back) != nil || back[0].Took != waiting[0].Took || back[0].End.Name != "" {
			t.Errorf("%s comes back as %+v", b, back)
		}
		if err := pairs.Close(); err != nil {
			t.Error(err)
		}
		if _, err := pairs.Waiting(0); !errors.Is(err, attach.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
}

// TestWaitingOfLatency counts the starts that have waited longer than a time.
func TestWaitingOfLatency(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	l, err := attach.OpenLatency(t.Context(), "lat:start", "lat:end", &attach.LatencyOptions{Key: []string{"id"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	if err != nil {
		needPrivileges(t, err)
		t.Fatal(err)
	}
	defer l.Close()
	for _, command := range []string{"start 1 one", "start 2 two", "start 5 five", "end 2 two 200", "sleep 60"} {
		p.Do("%s", command)
	}
	for longer, want := range map[time.Duration]uint64{0: 2, 50 * time.Millisecond: 2, time.Hour: 0, math.MaxInt64: 0} {
		if got, err := l.Waiting(longer); got != want || err != nil {
			t.Errorf("%d starts have waited longer than %v, %v, want %d", got, longer, err, want)
		}
	}
	some, err := attach.OpenLatency(t.Context(), "lat:start", "lat:end", &attach.LatencyOptions{Key: []string{"id"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Where: `path == "six"`})
	if err != nil {
		t.Fatal(err)
	}
	defer some.Close()
	for _, command := range []string{"start 6 six", "start 7 seven"} {
		p.Do("%s", command)
	}
	if got, err := some.Waiting(0); got != 1 || err != nil {
		t.Errorf("with a condition %d starts have waited, %v, want 1", got, err)
	}
	if pairs, err := some.Pairs(); err != nil || pairs.Pending != 2 {
		t.Errorf("counts %+v, %v, want 2 starts without an end", pairs, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Waiting(0); !errors.Is(err, attach.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

// TestPairsOfGoroutines matches by the goroutine, which changes threads, and pairs within
// pairs level by level.
func TestPairsOfGoroutines(t *testing.T) { sharedToo(t, checkPairsOfGoroutines) }

func checkPairsOfGoroutines(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}}
	const nesting = 32 // as PairStats says
	nested := pairsBy(t, t.Context(), "pairing:start", "pairing:end", nil, opts)
	p.Do("nest %d 500", nesting+8)
	p.Do("skip 2")
	p.Do("nest 1 200")
	pairs, counts := endPairs(t, nested)
	if want := (attach.PairStats{Pairs: nesting + 1, Pending: 2, TooDeep: 8, Unstarted: 8}); counts != want {
		t.Errorf("counts %+v, want %+v", counts, want)
	}
	for i, pair := range pairs {
		depth := i%nesting + 1
		if pair.Start.Args[0].Value != int64(depth) || pair.End.Args[0].Value != int64(depth) || pair.Start.Args[1].Value != fmt.Sprint("/", depth) {
			t.Errorf("pair %d is %s, want both ends of depth %d", i, inBrief(pair), depth)
		}
		if i > 0 && i < nesting && (pair.Took < pairs[i-1].Took || pair.Start.Time.After(pairs[i-1].Start.Time)) {
			t.Errorf("pair %d took %v, within it one %v", i, pair.Took, pairs[i-1].Took)
		}
	}

	const connections, requests = 8, 10
	served := pairsBy(t, t.Context(), "pairing:start", "pairing:end", nil, opts)
	p.Do("serve %d %d %s", connections, requests, filepath.Join(t.TempDir(), "truth"))
	pairs, counts = endPairs(t, served)
	if want := (attach.PairStats{Pairs: connections * requests}); counts != want || len(pairs) != connections*requests {
		t.Errorf("%d pairs, counts %+v, want %+v", len(pairs), counts, want)
	}
	for _, pair := range pairs {
		id := pair.Start.Args[0].Value.(int64)
		if pair.End.Args[0].Value != id || pair.Took < time.Duration(1+id%4)*time.Millisecond {
			t.Errorf("%s took %v, want both ends of one request, and %v at least", inBrief(pair), pair.Took, time.Duration(1+id%4)*time.Millisecond)
		}
	}
}

// TestPairsCostNoEvent checks that fast pairs do not reach this process: a ring of a page
// has room for none of them, and loses none.
func TestPairsCostNoEvent(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	a := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Slower: time.Minute, RingSize: 1}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	const threads, n = 4, 2000
	p.Do("threads %d %d", threads, n)
	if pairs, counts := endPairs(t, a); len(pairs) != 0 || counts.Fast != threads*n || counts.Pairs != threads*n {
		t.Errorf("%d pairs, counts %+v, want %d fast ones", len(pairs), counts, threads*n)
	}
	a = pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{RingSize: 1}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("threads %d %d", threads, n)
	pairs, counts := endPairs(t, a)
	st, err := a.Stats()
	if lost := uint64(threads*n - len(pairs)); err != nil || counts.Pairs != threads*n || len(pairs) == 0 || lost == 0 || st.Lost != 2*lost || st.Full != 2*lost {
		t.Errorf("%d pairs of %d, counts %+v, stats %+v, error %v: want pairs that found the ring full to be lost, both events of each", len(pairs), threads*n, counts, st, err)
	}
}

// TestPairsStacks checks that pairs hold the stacks of both probes, and if these are copied that
// of the end.
func TestPairsStacks(t *testing.T) { sharedToo(t, checkPairsStacks) }

func checkPairsStacks(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	for _, unwind := range []bool{false, true} {
		if unwind && runtime.GOARCH == "arm64" {
			continue // finds no callers of probes that Go declares
		}
		opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Stack: attach.MaxStack, Unwind: unwind}
		a := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}}, opts)
		copied := unwind && a.Via() == attach.ViaKernel
		p.Do("threads 1 3")
		pairs, _ := endPairs(t, a)
		if len(pairs) != 3 {
			t.Errorf("%d pairs, want 3", len(pairs))
		}
		for _, pair := range pairs {
			if start := pair.Start.Stack; copied != (start == nil) || start != nil && len(start.PCs) == 0 {
				t.Errorf("unwinding %v, a start has the stack %v", unwind, start)
			}
			if end := pair.End.Stack; end == nil || len(end.PCs) == 0 {
				t.Errorf("unwinding %v, an end has the stack %v, want one", unwind, end)
			}
			if fmt.Sprint(pair.Start.Args[0].Value) != fmt.Sprint(pair.End.Args[0].Value) {
				t.Errorf("unwinding %v: %s", unwind, inBrief(pair))
			}
		}
	}
}

// TestPairsUnread checks that pairs that nobody reads count as two unread events each.
func TestPairsUnread(t *testing.T) { sharedToo(t, checkPairsUnread) }

func checkPairsUnread(t *testing.T) {
	p := startChild(t, "latency")
	p.Do("load")
	a := pairsBy(t, t.Context(), "lat:start", "lat:end", &attach.PairOptions{Key: []string{"id"}}, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}})
	p.Do("threads 1 3")
	for range a.All() {
		break
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if st, err := a.Stats(); err != nil || st.Fired != 6 || st.Received != 2 || st.Unread != 4 {
		t.Errorf("stats %+v, error %v, want 6 fired, 2 received and 4 unread", st, err)
	}
}

// TestPairsOfFunctions matches the calls of a recursive function with their returns, by
// each kind of link.
func TestPairsOfFunctions(t *testing.T) {
	path := build(t, "functions.c", "gcc", "-O2")
	p := start(t, exec.Command(path))
	for _, link := range []attach.LinkKind{attach.AutoLink, attach.PerfLink} {
		t.Run(link.String(), func(t *testing.T) {
			a := pairsBy(t, t.Context(), "uprobe:"+path+":factorial", "uretprobe:"+path+":factorial", nil,
				&attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Args: []string{"arg0:int32", "retval:int32"}, Where: "arg0 > 1", Link: link})
			p.Do("")
			pairs, counts := endPairs(t, a)
			var got []string
			for _, pair := range pairs {
				got = append(got, inBrief(pair))
			}
			var want []string
			for n, product := 2, 2; n <= 5; n++ {
				want = append(want, fmt.Sprintf("factorial arg0=%d, factorial retval=%d", n, product))
				product *= n + 1
			}
			if d := cmp.Diff(want, got); d != "" || counts != (attach.PairStats{Pairs: 4, Dropped: 1}) {
				t.Errorf("counts %+v, pairs (-want +got):\n%s", counts, d)
			}
		})
	}
}

// TestPairsHaveStacks checks that both events of a pair have the calls that led to them.
func TestPairsHaveStacks(t *testing.T) { sharedToo(t, checkPairsHaveStacks) }

func checkPairsHaveStacks(t *testing.T) {
	p := startChild(t, "pairing")
	p.Do("load")
	a := pairsBy(t, t.Context(), "pairing:start", "pairing:end", nil, &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Stack: attach.MaxStack})
	p.Do("nest 2 200")
	pairs, _ := endPairs(t, a)
	if len(pairs) != 2 {
		t.Fatalf("%d pairs, want 2", len(pairs))
	}
	for i, pair := range pairs {
		for _, ev := range []event.Event{pair.Start, pair.End} {
			calls := functions(ev.Stack)
			if n := strings.Count(calls, "(*pairing).nest"); ev.Stack.Err != nil || n != 2-i {
				t.Errorf("%s: %d calls of nest in %s, error %v, want %d", ev.Name, n, calls, ev.Stack.Err, 2-i)
			}
		}
	}
}

// TestRefusedPairs checks what pairs cannot be asked for.
func TestRefusedPairs(t *testing.T) {
	for _, what := range []attach.PairOptions{{Slower: -1}, {MaxPending: -1}, {MaxPending: 1 << 25}, {Key: []string{"machine"}}} {
		if _, err := attach.OpenPairs(t.Context(), "refused:no", "refused:never", &what, nil); !errors.Is(err, attach.ErrAggregation) {
			t.Errorf("%+v: got error %v, want one of aggregation", what, err)
		}
	}
}
