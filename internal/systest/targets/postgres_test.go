package targets_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// postgres is a PostgreSQL server in a directory of its own.
type postgres struct {
	t      testing.TB
	dir    string // short: a socket lies in it
	bin    string // the directory of the programs that Debian installs
	server string // a copy: no other server runs it
	pid    int
	account
}

// account is the user that runs PostgreSQL, since root may not run it.
type account struct {
	name     string
	uid, gid int
}

func (a account) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)},
		Pdeathsig:  syscall.SIGKILL,
	}
	return cmd
}

func findAccount(t testing.TB, names ...string) account {
	t.Helper()
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil {
			return account{name, uid, gid}
		}
	}
	needs.Skip(t, "needs one of the users %v", names)
	return account{}
}

// findServer returns PostgreSQL's server; its other programs lie beside it.
func findServer(t testing.TB) string {
	t.Helper()
	server := find(t, "postgresql", "/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/17/bin/postgres", "postgres")
	if resolved, err := filepath.EvalSymlinks(server); err == nil {
		server = resolved
	}
	return server
}

// startPostgres starts a server with pgbench's tables, which logs every
// statement.
func startPostgres(t testing.TB) *postgres {
	t.Helper()
	tracee.Alone(t, "postgresql") // documents trace and count the statements of all servers
	server := findServer(t)
	p := &postgres{t: t, bin: filepath.Dir(server), account: findAccount(t, "postgres", "nobody")}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	p.dir = dir
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, p.uid, p.gid); err != nil {
		t.Fatal(err)
	}
	p.server = copied(t, server, dir)
	p.run(p.command(p.bin+"/initdb", "-D", p.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"))
	p.startServer()
	p.client("pgbench", "-i", "-q", "-n")
	return p
}

// within returns p for a part of the test.
func (p *postgres) within(t testing.TB) *postgres {
	q := *p
	q.t = t
	return &q
}

func (p *postgres) log() string { return filepath.Join(p.dir, "log") }

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) startServer() {
	p.t.Helper()
	log, err := os.Create(p.log())
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd := p.command(p.server, "-D", p.data(), "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off", "-c", "shared_preload_libraries=pg_stat_statements",
		"-c", "log_line_prefix=%p ", "-c", "log_statement=all", "-c", "log_connections=on", "-c", "log_disconnections=on")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	p.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
		kill := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			b, _ := os.ReadFile(p.log())
			p.t.Errorf("PostgreSQL ended with %v:\n%s", err, b)
		}
	})
	p.eventually("ready for connections", func() bool {
		pid, err := os.ReadFile(p.data() + "/postmaster.pid")
		return err == nil && strings.Contains(string(pid), "ready")
	})
}

// undisturbed lets the server's new processes run before all others until the end of the
// test, so that how long a statement takes by two clocks, which are not read at the same
// instant, is the same. Where the kernel gives no group of processes such a right, they
// share the processors with other tests.
func (p *postgres) undisturbed() {
	p.t.Helper()
	err := unix.SchedSetAttr(p.pid, &unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 1}, 0)
	if err != nil {
		p.t.Logf("PostgreSQL cannot run before all others: %v", err)
		return
	}
	p.t.Cleanup(func() {
		if err := unix.SchedSetAttr(p.pid, &unix.SchedAttr{Policy: unix.SCHED_NORMAL}, 0); err != nil {
			p.t.Error(err)
		}
	})
}

func (p *postgres) eventually(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("PostgreSQL is not %s within two minutes", what)
		}
	}
}

func (p *postgres) run(cmd *exec.Cmd) string {
	p.t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", cmd.Path, err, out)
	}
	return string(out)
}

// client runs pgbench or psql.
func (p *postgres) client(name string, args ...string) string {
	p.t.Helper()
	return p.run(p.clientCommand(name, args...))
}

func (p *postgres) clientCommand(name string, args ...string) *exec.Cmd {
	cmd := p.command(filepath.Join(p.bin, name), args...)
	cmd.Env = []string{"PGHOST=" + p.dir, "PGUSER=postgres", "PGDATABASE=postgres", "PGCLIENTENCODING=UTF8", "PGOPTIONS=", "LC_ALL=C"}
	return cmd
}

// logged is a message in the server's log.
type logged struct {
	pid     int
	message string
}

// settled returns the log when all connections have ended: their transactions
// are counted then. The server logs everything before a client learns of it,
// except the end of its connection.
func (p *postgres) settled() []logged {
	p.t.Helper()
	var all []logged
	p.eventually("without connections", func() bool {
		b, err := os.ReadFile(p.log())
		if err != nil {
			p.t.Fatal(err)
		}
		all = all[:0]
		connections := 0
		// Lines of a message but the first begin with a tab.
		for message := range strings.SplitSeq(strings.ReplaceAll(string(b), "\n\t", "\x00"), "\n") {
			l := logged{message: strings.ReplaceAll(message, "\x00", "\n")}
			if pid, text, ok := strings.Cut(l.message, " LOG:  "); ok {
				l.pid, _ = strconv.Atoi(pid)
				l.message = text
			}
			all = append(all, l)
			switch {
			case strings.HasPrefix(l.message, "connection received"):
				connections++
			case strings.HasPrefix(l.message, "disconnection"):
				connections--
			}
		}
		return connections == 0
	})
	return all
}

// transactions returns how many transactions the server says it has committed
// and rolled back.
func (p *postgres) transactions() (committed, rolledBack int) {
	p.t.Helper()
	out := p.client("psql", "-qAtX", "-c", "select sum(xact_commit), sum(xact_rollback) from pg_stat_database")
	if _, err := fmt.Sscanf(out, "%d|%d", &committed, &rolledBack); err != nil {
		p.t.Fatalf("%q: %v", out, err)
	}
	p.settled()
	return committed, rolledBack
}

func TestPostgres(t *testing.T) {
	p := startPostgres(t)
	t.Run("statements", func(t *testing.T) { testStatements(t, p.within(t)) })
	t.Run("known", func(t *testing.T) { testKnownStatements(t, p.within(t)) })
	t.Run("known locks", func(t *testing.T) { testKnownLocks(t, p.within(t)) })
	t.Run("first look", func(t *testing.T) { testFirstLook(t, p.within(t)) })
	t.Run("protocols", func(t *testing.T) { testProtocols(t, p.within(t)) })
	t.Run("waiter", func(t *testing.T) { testWaiter(t, p.within(t)) })
	t.Run("lock stacks", func(t *testing.T) { testLockStacks(t, p.within(t)) })
	t.Run("lock waits by stack", func(t *testing.T) { testLockWaitsByStack(t, p.within(t)) })
	t.Run("folded", func(t *testing.T) { testFoldedStatements(t, p.within(t)) })
	t.Run("quantiles", func(t *testing.T) { testQuantiles(t, p.within(t)) })
	t.Run("latency quantiles", func(t *testing.T) { testLatencyQuantiles(t, p.within(t)) })
	t.Run("slow", func(t *testing.T) { testSlowStatements(t, p.within(t)) })
	t.Run("timeline", func(t *testing.T) { testTimeline(t, p.within(t)) })
	t.Run("transactions", func(t *testing.T) { testTransactions(t, p.within(t)) })
	t.Run("everything", func(t *testing.T) { testEverything(t, p.within(t)) })
}

// testStatements compares the text of each statement with the server's
// log, in the order of each connection, in processes that start after the
// tracer.
func testStatements(t *testing.T, p *postgres) {
	before := len(p.settled())
	s := openEvents(t, []string{p.server + ":postgresql:query__start"}, &attach.EventOptions{MaxString: 8 << 10}, &attach.Options{Strings: []string{"arg0"}})
	out := p.client("pgbench", "-n", "-c", "3", "-t", "50")
	if !strings.Contains(out, "actually processed: 150/150") {
		t.Errorf("pgbench says\n%s", out)
	}
	p.client("psql", "-qX", "-c", "select 'grüße, 世界',\n\t'"+strings.Repeat("long ", 1000)+"'", "-c", "select 1; select 2")
	want, n := map[int][]string{}, 0
	for _, l := range p.settled()[before:] {
		if text, ok := strings.CutPrefix(l.message, "statement: "); ok {
			want[l.pid] = append(want[l.pid], text)
			n++
		}
	}
	events := drain(t, s)
	got := map[int][]string{}
	for _, ev := range events {
		got[ev.PID] = append(got[ev.PID], fmt.Sprint(values(t, &ev)...))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("statements (-logged +traced):\n%s", d)
	}
	if least := 150*7 + 2; n < least {
		t.Errorf("%d statements logged, want at least %d", n, least)
	}
}

// testTransactions compares beginnings and ends of transactions with
// the server's statistics, and with each other.
func testTransactions(t *testing.T, p *postgres) {
	p.settled()
	c0, _ := p.transactions()
	c1, r1 := p.transactions()
	asking := c1 - c0 // transactions of the query itself
	a, err := attach.OpenAggregate(t.Context(), []string{p.server + ":postgresql:transaction__*"}, attach.Count().By("probe"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.client("pgbench", "-n", "-c", "2", "-t", "40")
	p.client("psql", "-qX", "-c", "begin", "-c", "select 1", "-c", "rollback")
	p.settled()
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	c2, r2 := p.transactions()
	groups, err := a.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]uint64{}
	for _, g := range groups {
		got[g.By[0].Value] = g.Count
	}
	committed, rolledBack := uint64(c2-c1-asking), uint64(r2-r1)
	want := map[any]uint64{
		"postgresql:transaction__start":  committed + rolledBack,
		"postgresql:transaction__commit": committed,
		"postgresql:transaction__abort":  rolledBack,
	}
	if d := cmp.Diff(want, got); d != "" || committed < 80 || rolledBack != 1 {
		t.Errorf("transactions (-the server's statistics +traced):\n%s", d)
	}
}

// testEverything traces all probes of a server at work, and checks that no
// breakpoint and no raised semaphore stays behind.
func testEverything(t *testing.T, p *postgres) {
	s := openEvents(t, []string{p.server + ":*:*"}, &attach.EventOptions{RingSize: 64 << 20}, nil)
	probes := live(t, p.pid, s)
	checkArmed(t, probes)
	p.client("pgbench", "-n", "-c", "2", "-t", "20")
	p.settled()
	names := map[string]int{}
	for _, ev := range drain(t, s) {
		names[ev.Name]++
		for _, a := range ev.Args {
			if a.Err != nil {
				t.Fatalf("%s:%s %s: %v", ev.Provider, ev.Name, a.Name, a.Err)
			}
		}
	}
	checkClean(t, probes)
	for _, pair := range [][2]string{{"query__start", "query__done"}, {"query__parse__start", "query__parse__done"}, {"query__execute__start", "query__execute__done"}} {
		if a, b := names[pair[0]], names[pair[1]]; a != b || a < 2*20*7 {
			t.Errorf("%d %s and %d %s, want the same number", a, pair[0], b, pair[1])
		}
	}
}
