package targets_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
	"github.com/go-usdt/usdt/total"
)

// testLatencyQuantiles compares the quantiles of how long statements take with the times in
// the server's log, and the other values with its pg_stat_statements.
func testLatencyQuantiles(t *testing.T, p *postgres) {
	p.client("psql", "-qX", "-c", "create extension if not exists pg_stat_statements")
	p.client("psql", "-qX", "-c", "select pg_stat_statements_reset()")
	p.undisturbed()
	before := len(p.settled())
	percents := []float64{1, 25, 50, 90, 99, 99.9}
	a, err := attach.OpenLatency(t.Context(), p.server+":postgresql:query__start", p.server+":postgresql:query__done",
		&attach.LatencyOptions{Also: attach.Quantiles("latency", percents...).And(attach.Stddev("latency")), By: []string{"sql(query)"}}, &attach.Options{Prototypes: prototype.Known()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	const connections, statements = 8, 10
	var working sync.WaitGroup
	for c := range connections {
		working.Go(func() {
			args := []string{"-qX", "-c", "set log_min_duration_statement = 0"}
			for i := range statements {
				args = append(args, "-c", fmt.Sprintf("select pg_sleep(0.%03d)", 100+7*(connections*i+c)))
			}
			p.client("psql", args...)
		})
	}
	working.Wait()
	var want []float64 // nanoseconds, by the server's clock
	last := map[int]string{}
	for _, l := range p.settled()[before:] {
		if text, ok := strings.CutPrefix(l.message, "statement: "); ok {
			last[l.pid] = text
		}
		var ms float64
		if n, _ := fmt.Sscanf(l.message, "duration: %f ms", &ms); n == 1 && strings.HasPrefix(last[l.pid], "select pg_sleep") {
			want = append(want, ms*1e6)
		}
	}
	slices.Sort(want)
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(groups, func(g total.Group) bool { return g.By[0].Value == "select pg_sleep(?)" })
	if i < 0 || groups[i].Count != connections*statements || len(want) != connections*statements {
		t.Fatalf("groups %v, %d times in the log, want %d of each", groups, len(want), connections*statements)
	}
	g := &groups[i]

	// The server reads its clock before and after the probes fire, and writes its log between.
	const doubt = float64(5 * time.Millisecond)
	for i, q := range g.Quantiles {
		w := want[int(math.Ceil(percents[i]/100*float64(len(want))))-1]
		if got := nanoseconds(t, q.Value); math.Abs(got-w) > w/64+doubt {
			t.Errorf("%s is %v ns, and %.0f by the log, want at most 1/64 more or less", q.Name(), q.Value, w)
		}
	}

	var calls int
	var least, most, mean, deviation float64
	out := p.client("psql", "-qAtX", "-c", "select calls, min_exec_time, max_exec_time, mean_exec_time, stddev_exec_time from pg_stat_statements where query = 'select pg_sleep($1)'")
	if _, err := fmt.Sscanf(out, "%d|%f|%f|%f|%f", &calls, &least, &most, &mean, &deviation); err != nil || calls != connections*statements {
		t.Fatalf("pg_stat_statements says %q, %v, want %d calls", out, err, connections*statements)
	}
	for _, v := range []struct {
		name string
		got  any
		want float64
	}{{"min", g.Min, least}, {"max", g.Max, most}, {"avg", g.Avg, mean}, {"stddev", g.Stddev, deviation}} {
		if got := nanoseconds(t, v.got); math.Abs(got-v.want*1e6) > doubt {
			t.Errorf("%s is %v ns, and %v ms by pg_stat_statements", v.name, v.got, v.want)
		}
	}
}

// nanoseconds returns a value of a latency.
func nanoseconds(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	t.Fatalf("%v is a %T", v, v)
	return 0
}
