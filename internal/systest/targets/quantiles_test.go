package targets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

// testQuantiles compares the distribution of the blocks that a scan of a table reads, in
// several processes if PostgreSQL so decides, with what the server says of it: it has read
// each block once.
func testQuantiles(t *testing.T, p *postgres) {
	ask := func(query string) (n int) {
		t.Helper()
		out := p.client("psql", "-qAtX", "-c", query)
		if _, err := fmt.Sscan(out, &n); err != nil {
			t.Fatalf("%s: %q: %v", query, out, err)
		}
		p.settled() // the statistics are complete when the session has ended
		return n
	}
	const statistics = "select heap_blks_read + heap_blks_hit from pg_statio_user_tables where relname = 'pgbench_accounts'"
	blocks := ask("select pg_relation_size('pgbench_accounts') / current_setting('block_size')::int")
	relation := ask("select pg_relation_filenode('pgbench_accounts')")
	before := ask(statistics)
	percents := []float64{1, 10, 50, 90, 99, 99.9, 100}
	a, err := attach.OpenAggregate(t.Context(), []string{p.server + ":postgresql:buffer__read__start"},
		attach.Quantiles("block", percents...).And(attach.Stddev("block"), attach.Min("block")),
		&attach.Options{Prototypes: prototype.Known(), Where: fmt.Sprintf("relation == %d && fork == 0", relation)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.client("psql", "-qAtX", "-c", "set enable_indexscan = off", "-c", "set enable_indexonlyscan = off", "-c", "select count(*) from pgbench_accounts")
	p.settled()
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	read := ask(statistics) - before
	groups, err := a.Read()
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, error %v, want 1", groups, err)
	}
	g := groups[0]
	if int(g.Count) != blocks || read != blocks || blocks < 1000 || fmt.Sprint(g.Min) != "0" {
		t.Errorf("%d blocks from %v on are traced, and the server says it has read %d, of a table of %d", g.Count, g.Min, read, blocks)
	}
	for i, q := range g.Quantiles {
		want := math.Ceil(percents[i]/100*float64(blocks)) - 1 // the blocks are 0, 1, 2 …
		if got := float64(q.Value.(uint64)); math.Abs(got-want) > want/64 {
			t.Errorf("%s is block %v, want %v within 1/64", q.Name(), got, want)
		}
	}
	n := float64(blocks)
	if want := math.Sqrt((n*n - 1) / 12); math.Abs(g.Stddev.(float64)-want) > 1e-9*want {
		t.Errorf("the standard deviation is %v, want %v of the numbers from 0 to %d", g.Stddev, want, blocks-1)
	}
	if line, err := g.MarshalJSON(); err != nil || !strings.Contains(string(line), `"quantiles":{"p1":`) {
		t.Errorf("%s, error %v", line, err)
	}
}
