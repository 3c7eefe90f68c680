package attach_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
)

// TestLateEnds finds all ends of a latency later than starts, and groups by what is known of the
// task, by what starts keep and by nothing.
func TestLateEnds(t *testing.T) { everyWay(t, checkLateEnds) }

func checkLateEnds(t *testing.T) {
	t.Setenv("LATE_DIR", t.TempDir())
	for _, by := range [][]string{nil, {"pid"}, {"n"}, {"probe", "n", "comm"}} {
		for quantiles, also := range map[string]attach.Aggregation{"none": {}, "p0.5": attach.Quantiles("latency", 0.5)} {
			p := startChild(t, "lateends")
			p.Do("begins")
			opts := &attach.Options{Target: attach.Target{PIDs: []int{p.PID()}}, Await: true, Rescan: time.Hour}
			what := &attach.LatencyOptions{Key: []string{"n"}, By: by, Also: also}
			l, err := latencyBy(t, t.Context(), "latebegins:begin", "lateends:end", what, opts)
			if err != nil {
				needPrivileges(t, err)
				t.Fatal(err)
			}
			defer l.Close()
			p.Do("begin") // before its end is there
			if groups, err := l.Read(); err != nil || len(groups) > 0 {
				t.Errorf("by %v, quantiles %s: %v and %v before there are ends", by, quantiles, groups, err)
			}
			p.Do("ends")
			if err := l.Rescan(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				p.Do("begin")
				p.Do("end")
			}
			if err := l.Stop(); err != nil {
				t.Fatal(err)
			}
			for _, s := range l.Plan() {
				if !s.Attached {
					t.Errorf("by %v, quantiles %s: %v: %v", by, quantiles, s.Probe, s.Reason)
				}
			}
			groups, err := l.Read()
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]any{"pid": p.PID(), "n": 1, "probe": "lateends:end", "comm": "exe"}
			want := []string{"3"}
			for _, key := range by {
				want = append(want, fmt.Sprint(key, "=", known[key]))
			}
			var got []string
			for _, g := range groups {
				got = append(got, fmt.Sprint(g.Count))
				for _, arg := range g.By {
					got = append(got, fmt.Sprint(arg.Name, "=", arg.Value))
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("by %v, quantiles %s: groups (-want +got):\n%s", by, quantiles, d)
			}
			checkSum(t, l)
		}
	}
}
