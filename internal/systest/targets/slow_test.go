package targets_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

// testSlowStatements compares the statements that took longer than 50 ms with those of which
// the server's log says so, among many that are fast.
func testSlowStatements(t *testing.T, p *postgres) {
	const slower = 50 * time.Millisecond
	p.undisturbed()
	before := len(p.settled())
	pairs, err := attach.OpenPairs(t.Context(), p.server+":postgresql:query__start", p.server+":postgresql:query__done",
		&attach.PairOptions{Slower: slower}, &attach.Options{Prototypes: prototype.Known()})
	if err != nil {
		t.Fatal(err)
	}
	defer pairs.Close()
	bench := p.clientCommand("pgbench", "-n", "-c", "2", "-t", "100")
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	const long = "select pg_sleep(0.2), 'grüße, 世界'"
	for range 2 {
		p.client("psql", "-qX", "-c", "set log_min_duration_statement = 0", "-c", "select 1", "-c", long, "-c", "select 2", "-c", "select pg_sleep(0.01)", "-c", "do $$begin perform pg_sleep(0.1); end$$")
	}
	if err := bench.Wait(); err != nil {
		t.Fatal(err)
	}

	// A statement of the connections that log how long each statement takes. The server looks
	// at its clock before and after the probes fire.
	type statement struct {
		query string
		took  time.Duration
	}
	logged := map[int][]statement{}
	last := map[int]string{}
	for _, l := range p.settled()[before:] {
		if text, ok := strings.CutPrefix(l.message, "statement: "); ok {
			last[l.pid] = text
		}
		var ms float64
		if n, _ := fmt.Sscanf(l.message, "duration: %f ms", &ms); n == 1 {
			logged[l.pid] = append(logged[l.pid], statement{last[l.pid], time.Duration(ms * float64(time.Millisecond))})
		}
	}
	if err := pairs.Stop(); err != nil {
		t.Fatal(err)
	}
	traced := map[int][]attach.Pair{}
	for pair, err := range pairs.All() {
		if err != nil {
			t.Fatal(err)
		}
		query, done := argument(t, &pair.Start, "query"), argument(t, &pair.End, "query")
		if query != done || pair.Start.TID != pair.End.TID || pair.Took <= slower {
			t.Errorf("a pair of %v and %v took %v, want one statement of more than %v", query, done, pair.Took, slower)
		}
		traced[pair.Start.PID] = append(traced[pair.Start.PID], pair)
	}
	const doubt = 5 * time.Millisecond // between the two clocks
	slow := 0
	for pid, all := range logged {
		var want, got []string
		unsure := map[string]bool{}
		for _, s := range all {
			switch {
			case (s.took - slower).Abs() < doubt:
				unsure[s.query] = true
			case s.took > slower:
				want = append(want, s.query)
			}
		}
		for _, pair := range traced[pid] {
			if query := fmt.Sprint(argument(t, &pair.Start, "query")); !unsure[query] {
				got = append(got, query)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("slow statements of process %d (-logged +traced):\n%s", pid, d)
		}
		slow += len(want)
	}
	counts, err := pairs.Counts()
	if err != nil || slow < 4 || counts.Fast < 1000 || counts.Evicted+counts.TooDeep > 0 {
		t.Errorf("%d statements were slow, counts %+v, error %v, want 4 slow ones at least among more than a thousand", slow, counts, err)
	}
}
