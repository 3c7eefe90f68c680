package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// The documents whose commands tests run as they are written.
const (
	readme       = "README.md"
	tracing      = "docs/tracing.md"
	unprivileged = "docs/unprivileged.md"
	recording    = "docs/flight-recorder.md"
	recipes      = "docs/recipes.md"
)

// document returns the text of one of the module's documents.
func document(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile("../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// commands returns a document's commands.
func commands(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(document(t, path)) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, strings.TrimSpace(command))
		}
	}
	return all
}

// kitchen runs the commands of a document.
type kitchen struct {
	t    *testing.T
	path string // of the document
	dir  string
	all  []string
	used []string
}

// newKitchen returns a kitchen for the commands of a document.
func newKitchen(t *testing.T, path string) *kitchen {
	t.Helper()
	needs.Root(t)
	k := &kitchen{t: t, path: path, dir: t.TempDir(), all: commands(t, path)}
	for _, name := range []string{"sdttrace", "sdtdump"} {
		if err := os.Rename(needs.Build(t, "cmd/"+name), filepath.Join(k.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// choose returns the next command that contains names, ready to run.
func (k *kitchen) choose(names string, pid int) *exec.Cmd {
	k.t.Helper()
	for _, c := range k.all {
		if strings.Contains(c, names) && !slices.Contains(k.used, c) {
			k.used = append(k.used, c)
			cmd := exec.Command("sh", "-c", "exec "+strings.ReplaceAll(c, "-p 4711", "-p $PID"))
			cmd.Dir = k.dir
			path := k.dir
			for _, dir := range jvms() {
				path += ":" + dir + "/bin"
			}
			cmd.Env = append(os.Environ(), fmt.Sprintf("PID=%d", pid), "PATH="+path+":/usr/bin:/bin")
			return cmd
		}
	}
	k.t.Fatalf("%s has no command with %q that was not run", k.path, names)
	return nil
}

// done checks that every command was run.
func (k *kitchen) done() {
	k.t.Helper()
	for _, c := range k.all {
		if !slices.Contains(k.used, c) {
			k.t.Errorf("nothing tests the command of %s: %s", k.path, c)
		}
	}
}

// cook runs the sdttrace command that contains names. As soon as it traces, cook
// calls happen, or feeds stdin to the program that the command has started. It
// compares the output with patterns.
func (k *kitchen) cook(names string, pid int, stdin string, happen func(), patterns ...string) {
	k.t.Helper()
	cmd := k.choose(names, pid)
	command := cmd.Args[2]
	in, err := cmd.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	defer in.Close()
	var stdout, stderr tracee.Output
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	defer cmd.Process.Kill() // happen may fail the test
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stderr.Await(k.t, "attached to")
	if happen != nil {
		happen()
		cmd.Process.Signal(syscall.SIGINT)
	} else {
		fmt.Fprint(in, stdin)
		in.Close()
	}
	select {
	case err := <-ended:
		if err != nil {
			k.t.Errorf("%s: %v\n%s", command, err, stderr.String())
		}
	case <-time.After(3 * time.Minute):
		k.t.Fatalf("%s: goes on and on:\n%s", command, stderr.String())
	}
	k.match(command, stdout.String(), stderr.String(), patterns...)
}

// reheat runs the command that contains names, which traces nothing.
func (k *kitchen) reheat(names string, patterns ...string) {
	k.t.Helper()
	cmd := k.choose(names, 0)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		k.t.Errorf("%s: %v\n%s", cmd.Args[2], err, stderr.String())
	}
	k.match(cmd.Args[2], stdout.String(), stderr.String(), patterns...)
}

// match compares output with patterns.
func (k *kitchen) match(command, stdout, stderr string, patterns ...string) {
	k.t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(stdout) {
			k.t.Errorf("%s: no line matches %s:\n%.4000s\n%s", command, p, stdout, stderr)
		}
	}
}

// TestRecipes runs the recipes as they are written.
func TestRecipes(t *testing.T) {
	k := newKitchen(t, recipes)
	for _, name := range []string{"Work.class", "work.py"} {
		copied(t, "testdata/"+name, k.dir)
	}

	p := startPostgres(t)
	bench := func() { p.client("pgbench", "-n", "-c", "2", "-t", "20") }
	extended := func() { p.client("pgbench", "-n", "-M", "extended", "-t", "20") }
	failing := filepath.Join(p.dir, "failing.sql")
	if err := os.WriteFile(failing, []byte("select 1/0;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k.cook("page postgresql", 0, "", extended)
	k.cook("latency postgresql", 0, "", extended, `^ *20 .* "SELECT abalance FROM pgbench_accounts WHERE aid = \$1"$`)
	k.cook("--slower 50ms", 0, "", func() { p.client("psql", "-qX", "-c", "select pg_sleep(0.1)") },
		`^[0-9:.]+ postgres/\d+ latency=([1-9]\d\dms|\d+(\.\d+)?s) postgresql:statement__status status="select pg_sleep\(0.1\)" -> uprobe:postgres:pgstat_report_activity$`)
	k.cook("sql(status)", 0, "", extended, `^ *20 .* "END"$`)
	k.cook("transaction__abort", 0, "", func() { p.client("psql", "-qX", "-f", failing) },
		`^[0-9:.]+ postgres/\d+ latency=\S+ postgresql:statement__status status="select 1/0;" -> postgresql:transaction__abort `)
	for _, start := range []string{"query__parse__start", "query__plan__start", "query__execute__start"} {
		k.cook(start, 0, "", extended, `^ *20 .* "SELECT abalance FROM pgbench_accounts WHERE aid = \$1"$`)
	}
	k.cook("query__execute__done", 0, "", extended, `^ *20 .* "END"$`)
	k.cook("query__start", 0, "", bench,
		`^[0-9:.]+ postgres/\d+ postgresql:query__start query="UPDATE pgbench_tellers SET tbalance = tbalance \+ -?\d+ WHERE tid = \d+;"$`)
	k.cook("sql(query)", 0, "", bench, `^ *40  "UPDATE pgbench_tellers SET tbalance = tbalance \+ \? WHERE tid = \?"$`)
	k.cook("UPDATE*", 0, "", bench, `^[0-9:.]+ postgres/\d+ postgresql:query__start query="UPDATE pgbench_tellers SET `)
	k.cook("query__done", 0, "", bench, `^[0-9:.]+ +\d{3,} `)
	k.cook("query__done --slower", 0, "", func() { p.client("psql", "-qX", "-c", "select pg_sleep(0.1)") },
		`^[0-9:.]+ postgres/\d+ latency=([1-9]\d\dms|\d+(\.\d+)?s) postgresql:query__start query="select pg_sleep\(0.1\)" -> postgresql:query__done$`)
	k.cook("transaction__", 0, "", bench, `^ *\d\d+  "postgresql:transaction__start"$`, `^ *\d\d+  "postgresql:transaction__commit"$`)
	k.cook("lock__wait__done --slower", 0, "", p.waitForLock,
		` postgresql:lock__wait__start waits_for="relation \d+ of database \d+" mode=AccessShareLock statement="select count\(\*\) from pgbench_history" -> postgresql:lock__wait__done$`,
		`^\tPostgresMain \(postgres\+0x[0-9a-f]+\)$`)
	k.cook("sql(statement)", 0, "", p.waitForLock, `^ *1 .* "select count\(\*\) from pgbench_history"$`)
	k.cook("timeline", 0, "", bench)
	k.checkTimeline("bank.pftrace")
	k.cook("--stack=dwarf postgresql", 0, "", p.waitForLock, `postgresql:lock__wait__start `, `^\tPostgresMain \(postgres\+0x[0-9a-f]+\)$`)
	k.cook("--by pod,container", 0, "", bench, `^ *\d{3,} +".*" +".*"$`)

	k.cook("record -o", 0, "", bench)
	k.reheat("--from day.usdt", `^[0-9:.]+ +\d{3,} `)

	j := startJVM(t, "-XX:+UseSerialGC")
	k.cook("thread__", j.PID(), "", func() { j.Do("threads 3") },
		`hotspot:thread__start name="wörker-2" thread=\d+ `, `^[0-9:.]+ wörker-2/\d+ hotspot:thread__stop name="wörker-2" thread=\d+ `)
	k.cook("gc__begin", j.PID(), "", func() { j.Do("gc 4") }, `^[0-9:.]+ +4 `)
	k.cook("class__loaded", j.PID(), "", func() { j.Do("load 1") }, `hotspot:class__loaded name="java/util/zip/GZIPOutputStream" loader=`)
	k.cook("--signal QUIT", j.PID(), "", func() {
		j.Send("gc 1")
		for line := ""; !strings.HasPrefix(line, "Full thread dump"); line = j.Line() {
		}
	}, `hotspot:gc__begin `)
	k.cook("method__entry", 0, "call 500\n", nil, `^ *500  "Work\.step\(.*\)"$`)

	python := start(t, findPython(t), "testdata/work.py")
	k.cook("python:gc", 0, "collect\n", nil, `^[0-9:.]+ +\d\d+ `)

	needs.Run(t, "go", "build", "-o", k.dir+"/service", "./testdata/heap")
	k.cook("otel_memory", 0, "", nil)

	c := start(t, compileThrows(t))
	k.cook("libstdcxx:*", c.PID(), "", func() { c.Do("1 2") }, `libstdcxx:throw exception=0x[0-9a-f]+ type="Loud"$`, `libstdcxx:catch exception=0x[0-9a-f]+ type="Loud"$`)
	k.cook("cxx(type)", 0, "", func() { c.Do("2 100") }, `^ *\d{3,}  "throws" +"Loud"$`)

	k.cook("--stack=dwarf --by", c.PID(), "", func() { c.Do("1 2") }, `^ *\d+  "(int|Quiet|Loud)"$`, `^\t__cxa_throw `, `^\tdeep\(int, int\) `)
	k.cook("--stop", c.PID(), "", func() {
		c.Send("1 2")
		for stat := ""; !strings.Contains(stat, ") T "); {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
			if err != nil {
				t.Fatal(err)
			}
			stat = string(b)
		}
	}, `libstdcxx:throw exception=0x[0-9a-f]+ type="Loud"$`)
	c.Line()
	k.cook("profile -o throws", c.PID(), "", func() { c.Do("1 2") })
	k.cook("--stack=dwarf libstdcxx", c.PID(), "", func() { c.Do("1 2") }, `^\t__cxa_throw `, `^\tdeep\(int, int\) `)

	k.cook("record -o throws.usdt", c.PID(), "", func() { c.Do("1 2") })
	k.reheat("'stack,cxx(type)' --from throws.usdt", `^ *\d+  "(int|Quiet|Loud)"$`, `^\t__cxa_throw `, `^\tdeep\(int, int\) `)
	k.reheat("profile -o throws.pb.gz --from throws.usdt")

	needCalls(t)
	k.cook("function__return", python.PID(), "", func() { python.Do("call") }, `^ *1000  ".*/?work.py"  "called"$`)
	k.done()
}

// waitForLock makes one connection wait for a lock that another holds until then.
func (p *postgres) waitForLock() {
	p.t.Helper()
	p.waitForLockBy(p.clientCommand("psql", "-qX", "-c", "select count(*) from pgbench_history"))
}

// waitForLockBy is waitForLock with a client of its own, whose statement reads pgbench_history.
func (p *postgres) waitForLockBy(waiter *exec.Cmd) {
	p.t.Helper()
	holder := p.clientCommand("psql", "-qX")
	commands, err := holder.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := func(which string, cmd *exec.Cmd) {
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("%s a lock: %v", which, err)
		}
	}
	func() {
		defer ended("hold", holder)
		defer commands.Close()
		fmt.Fprintln(commands, "begin; lock table pgbench_history;")
		p.eventually("holding the lock", func() bool { return p.locks("granted and mode = 'AccessExclusiveLock'") == 1 })
		if err := waiter.Start(); err != nil {
			p.t.Fatal(err)
		}
		p.eventually("waiting for the lock", func() bool { return p.locks("not granted") == 1 })
		time.Sleep(500 * time.Millisecond) // whoever traces looks at the memory of the process that waits
		fmt.Fprintln(commands, "commit;")
	}()
	ended("wait for", waiter)
}

// locks returns how many locks of the table that fulfil a condition there are.
func (p *postgres) locks(condition string) int {
	p.t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(p.client("psql", "-qAtX", "-c", "select count(*) from pg_locks where relation = 'pgbench_history'::regclass and "+condition)))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}
