package attach_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
)

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
