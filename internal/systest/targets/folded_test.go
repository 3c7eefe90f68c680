package targets_test

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

// parameter is a literal in the texts of pg_stat_statements.
var parameter = regexp.MustCompile(`\$\d+`)

// testFoldedStatements compares the statements without literals, and how often each was
// executed, with what the server's pg_stat_statements says of them. Each has literals of
// its own, more of them than there is room for in the kernel's map.
func testFoldedStatements(t *testing.T, p *postgres) {
	const groups = 64
	p.client("psql", "-qX", "-c", "create extension if not exists pg_stat_statements")
	p.client("psql", "-qX", "-c", "select pg_stat_statements_reset()")
	p.settled()
	a, err := attach.OpenAggregate(t.Context(), []string{p.server + ":postgresql:query__start"}, attach.Count().By("sql(query)").MaxGroups(groups),
		&attach.Options{Prototypes: prototype.Known()})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.client("pgbench", "-n", "-c", "3", "-t", "100")
	p.client("psql", "-qX", "-c", "select 'grüße', E'it\\'s', 1.5e3, -7 from pgbench_branches where bid = 1", "-c", "SELECT count(*) FROM pgbench_tellers WHERE tid > 5")
	p.settled()
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	read, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range read {
		statement, _ := g.By[0].Value.(string)
		got[statement] = int(g.Count)
	}
	if st, err := a.Stats(); err != nil || st.Lost > 0 || st.Received < 300*7 {
		t.Errorf("stats %+v, %v, want 2100 and more, and none lost", st, err)
	}
	want := map[string]int{}
	out := p.client("psql", "-qAtX", "-F", "\t", "-c", "select calls, replace(query, E'\\n', ' ') from pg_stat_statements where query not like '%pg_stat_statements%'")
	for line := range strings.Lines(out) {
		calls, query, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(calls)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want[strings.TrimSuffix(parameter.ReplaceAllString(query, "?"), ";")] += n
	}
	// pgbench asks for partitions with "true", which stays, and at greater length than a key
	// has room for.
	partitions := func(statement string, _ int) bool { return strings.HasPrefix(statement, "select o.n, p.partstrat") }
	maps.DeleteFunc(want, partitions)
	maps.DeleteFunc(got, partitions)
	if d := cmp.Diff(want, got); d != "" || len(want) < 10 {
		t.Errorf("statements (-pg_stat_statements +traced):\n%s", d)
	}
}
