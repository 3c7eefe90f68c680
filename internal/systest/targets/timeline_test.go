package targets_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/timeline"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// checkTimeline checks the trace that a recipe has written: a statement is a slice on the
// track of its server process, and so is a wait for a lock within one.
func (k *kitchen) checkTimeline(name string) {
	k.t.Helper()
	trace := timeline.ReadFile(k.t, filepath.Join(k.dir, name))
	queries, commits := trace.Named("postgresql:query"), trace.Named("postgresql:transaction__commit")
	if len(queries) < 40*7 || len(commits) < 40 {
		k.t.Errorf("%s has %d statements and %d commits", name, len(queries), len(commits))
	}
	for _, wait := range trace.Named("postgresql:lock__wait") {
		if wait.Parent == nil || wait.Parent.Name != "postgresql:query" {
			k.t.Errorf("a process waits for a lock, and for no statement: %+v", wait)
		}
	}
}

// testTimeline compares the slices of pgbench's statements with how often the server's
// pg_stat_statements says that each was executed, and checks those of a statement that
// sleeps, of one that waits for a lock, and of one behind another that fails, whose end
// never fires.
func testTimeline(t *testing.T, p *postgres) {
	needs.Root(t)
	dir := t.TempDir()
	sdttrace, file := needs.Build(t, "cmd/sdttrace"), filepath.Join(dir, "trace")
	p.client("psql", "-qX", "-c", "create extension if not exists pg_stat_statements")
	p.client("psql", "-qX", "-c", "select pg_stat_statements_reset()")
	p.settled()
	span := func(name string) string {
		return p.server + ":postgresql:" + name + "__start," + p.server + ":postgresql:" + name + "__done"
	}
	cmd := exec.Command(sdttrace, "timeline", "-o", file, "--span", span("query"), "--span", span("lock__wait"), "--buffer", "16M", p.server+":postgresql:query__parse__start")
	var stderr tracee.Output
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	stderr.Await(t, "attached to")
	p.client("pgbench", "-n", "-M", "simple", "-c", "2", "-t", "100")
	p.client("psql", "-qX", "-c", "select pg_sleep(0.05)", "-c", "do $$begin perform 1/0; exception when division_by_zero then null; end$$", "-c", "select 1/(tid-tid) from pgbench_tellers", "-c", "select 'after'")
	p.waitForLock()
	p.settled()
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), ", 0 lost,") {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	trace := timeline.ReadFile(t, file)

	got, want := map[string]int{}, map[string]int{}
	for _, s := range trace.Named("postgresql:query") {
		query, _ := s.Args["query"].(string)
		switch {
		case s.Open || s.TID != s.PID || s.TID == 0 || s.Depth != 0:
			t.Errorf("a statement is %+v, want a slice on the track of its process", s)
		case strings.HasPrefix(query, "UPDATE pgbench_"), strings.HasPrefix(query, "INSERT INTO pgbench_history"):
			got[strings.Fields(query)[0]+" "+strings.Fields(query)[1]]++
		}
		if query == "select pg_sleep(0.05)" && (s.Took.Milliseconds() < 50 || s.Took.Milliseconds() > 5000) {
			t.Errorf("a sleep of 50 ms takes %v", s.Took)
		}
	}
	out := p.client("psql", "-qAtX", "-F", "\t", "-c", "select calls, query from pg_stat_statements where query like 'UPDATE pgbench_%' or query like 'INSERT INTO pgbench_history%'")
	for line := range strings.Lines(out) {
		calls, query, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(calls)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want[strings.Join(strings.Fields(query)[:2], " ")] += n
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 4 {
		t.Errorf("statements (-pg_stat_statements +slices):\n%s", d)
	}
	// A query after a statement that failed is no part of it.
	if after := trace.Named("postgresql:query"); len(after) == 0 || after[len(after)-1].Parent != nil {
		t.Error("a statement is within another one")
	}
	waited := false
	for _, w := range trace.Named("postgresql:lock__wait") {
		if w.Parent == nil || w.Parent.Name != "postgresql:query" || w.Took > w.Parent.Took {
			t.Errorf("a wait for a lock is %+v, within %+v", w, w.Parent)
		} else if w.Parent.Args["query"] == "select count(*) from pgbench_history" {
			waited = true // others are of pgbench's clients, for each other
		}
	}
	if !waited {
		t.Error("the statement that waits for a lock does not")
	}
	inside := 0
	for _, s := range trace.Named("postgresql:query__parse__start") {
		if s.Instant && s.Parent != nil && s.Parent.Name == "postgresql:query" {
			inside++
		}
	}
	if all := trace.Named("postgresql:query__parse__start"); inside < 200*7 {
		t.Errorf("%d of %d parses are within slices of statements: %+v", inside, len(all), all[:min(len(all), 5)])
	}
}
