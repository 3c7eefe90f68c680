package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// testProtocols measures statements by the pair that matters first, in each protocol: every statement once,
// though drivers have PostgreSQL report it up to three times, and nothing hangs behind an error.
func testProtocols(t *testing.T, p *postgres) {
	script := filepath.Join(p.dir, "protocols.sql")
	commands := "select pg_sleep(0.001);\nbegin;\ninsert into pgbench_history (tid) values (7);\ncommit;\n"
	parallel := filepath.Join(p.dir, "parallel.sql")
	// query__execute__done fires before a commit, which waits here.
	const slowly = `create table slow (a int);
create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(0.05); return null; end';
create constraint trigger waits after insert on slow deferrable initially deferred for each row execute function wait();
`
	p.client("psql", "-qAtX", "-c", slowly)
	committing := filepath.Join(p.dir, "committing.sql")
	const workers = "set max_parallel_workers_per_gather = 2;\nset parallel_setup_cost = 0;\nset parallel_tuple_cost = 0;\nset min_parallel_table_scan_size = 0;\nselect count(*) from pgbench_accounts;\n"
	failing := filepath.Join(p.dir, "failing.sql")
	for file, text := range map[string]string{script: commands, committing: "begin;\ninsert into slow values (1);\ncommit;\n", parallel: workers, failing: "select 1/0;\nselect 2;\nselect 3/0;\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sdttrace := needs.Build(t, "cmd/sdttrace")
	measure := func(work func(), args ...string) (out, said string) {
		var stdout, stderr tracee.Output
		cmd := exec.Command(sdttrace, append(args, "--exe", p.server)...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = &stdout, &stderr, t.TempDir()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Process.Kill()
		stderr.Await(t, "Ctrl-C ends")
		work()
		p.settled()
		cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		out, said := measure(func() { p.client("pgbench", "-n", "-M", mode, "-f", script, "-t", "25") }, "latency", "postgresql")
		for _, statement := range []string{`select pg_sleep\(\?\)`, "begin", `insert into pgbench_history \(tid\) values \(\?\)`, "commit"} {
			n := 25
			if mode == "prepared" {
				n++ // pgbench prepares it first
			}
			if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d .* "%s"$`, n, statement)).MatchString(out) {
				t.Errorf("in the %s protocol:\n%s%s, want %d of %s", mode, out, said, n, statement)
			}
		}
		if !regexp.MustCompile(`: 1[0-2]\d pairs, .* 0 lost,`).MatchString(said) || strings.Contains(said, "could not be read") {
			t.Errorf("in the %s protocol the summary is %s", mode, said)
		}
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		out, said := measure(func() { p.client("pgbench", "-n", "-M", mode, "-f", committing, "-t", "5") }, "latency", "postgresql", "--slower", "50ms", "--fields", "status")
		if n := len(regexp.MustCompile(`(?m)^status="commit;?"$`).FindAllString(out, -1)); n != 5 { // other statements are as slow without a processor
			t.Errorf("with 5 commits that take 50 ms, %d in the %s protocol: %s%s", n, mode, out, said)
		}
	}
	// A start alone has the end that belongs to it, and the text of the statement: planning, each statement of a
	// string, which INSERT executes in two portals, and commits.
	batch := filepath.Join(p.dir, "batch.sql")
	if err := os.WriteFile(batch, []byte("select 1\\; select 2\\; insert into pgbench_history (tid) values (8);\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mode, file, start, want string }{
		{"simple", script, "query__plan__start", `25 +"insert into pgbench_history \(tid\) values \(\?\)"`},
		{"extended", script, "query__plan__start", `25 +"insert into pgbench_history \(tid\) values \(\?\)"`},
		{"extended", script, "query__parse__start", `25 +"select pg_sleep\(\?\)"`},
		{"simple", batch, "query__execute__start", `75 +"select \?; select \?; insert into pgbench_history \(tid\) values \(\?\)"`},
		{"extended", script, "query__execute__start", `25 +"insert into pgbench_history \(tid\) values \(\?\)"`},
		{"prepared", script, "query__execute__done", `25 +"commit"`},
		{"simple", script, "query__execute__done", `25 +"select pg_sleep\(\?\)"`},
	} {
		out, said := measure(func() { p.client("pgbench", "-n", "-M", c.mode, "-f", c.file, "-t", "25") }, "latency", "postgresql:"+c.start, "--show", "count")
		if !regexp.MustCompile(`(?m)^ *` + c.want + `$`).MatchString(out) {
			t.Errorf("from %s in the %s protocol: %s%s, want %s", c.start, c.mode, out, said, c.want)
		}
	}
	fail := func() { p.client("psql", "-qAtX", "-f", failing) }
	if out, said := measure(fail, "latency", "postgresql", "--slower", "1ns", "--fields", "status"); out != "status=\"select 1/0;\"\nstatus=\"select 2;\"\nstatus=\"select 3/0;\"\n" || strings.Contains(said, "waited longer") {
		t.Errorf("with errors: %s%s, want each statement, and none that hangs", out, said)
	}
	if out, said := measure(func() { p.client("psql", "-qAtX", "-f", parallel) }, "latency", "postgresql", "--slower", "1ns"); strings.Contains(out, "has not ended") || !strings.Contains(said, "without an end began in processes that have ended") {
		t.Errorf("with parallel workers: %s%s, want none that hangs", out, said)
	}
	out, _ := measure(fail, "latency", "postgresql:statement__status", "postgresql:transaction__abort", "--by", "status", "--show", "count")
	for _, statement := range []string{"select 1/0;", "select 3/0;"} {
		if !regexp.MustCompile(`(?m)^ *1 +"` + statement + `"$`).MatchString(out) {
			t.Errorf("until rolled back: %s, want 1 of %s", out, statement)
		}
	}
}
