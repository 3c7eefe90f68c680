package attach_test

import (
	"context"
	"errors"
	"fmt"
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
