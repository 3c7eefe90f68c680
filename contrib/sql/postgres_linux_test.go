package usdtsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"github.com/go-usdt/usdt/contrib/sql"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/internal/systest/needs"
	"github.com/go-usdt/usdt/internal/systest/tracee"
)

// startPostgres starts a server that listens in a directory, which it returns.
func startPostgres(t *testing.T) string {
	t.Helper()
	tracee.Alone(t, "postgresql") // documents trace and count the statements of all servers
	needs.Root(t)
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	account, err := user.Lookup("postgres")
	if len(found) == 0 || err != nil {
		needs.Skip(t, "needs postgresql: %v", err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	dir, err := os.MkdirTemp("", "pg") // a short name: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(filepath.Dir(found[0]), name), args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	if out, err := command("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	p := tracee.StartVictim(t, command("postgres", "-D", "data", "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off"))
	p.Stderr().Await(t, "ready to accept connections")
	return dir
}

type traceKey struct{}

// TestPostgres has sdttrace print what PostgreSQL's driver is asked for.
func TestPostgres(t *testing.T) {
	dir := startPostgres(t)
	source := "host=" + dir + " user=postgres dbname=postgres sslmode=disable"
	db, err := usdtsql.Open("postgres", source, &usdtsql.Options{
		DB: "shop",
		IDs: func(ctx context.Context) (trace [16]byte, span [8]byte) {
			trace[0], _ = ctx.Value(traceKey{}).(byte)
			return trace, span
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("create table items (n int, name text)"); err != nil {
		t.Fatal(err)
	}
	tr := fired.Trace(t, "sql:*")
	one := fired.Trace(t, "sql:request_done", "--where", fmt.Sprintf("trace_id == %q", "03"+strings.Repeat("00", 15)))
	const clients, items = 4, 10
	const sleep = "select pg_sleep(60)"
	plain, err := sql.Open("postgres", source)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	asleep := make(chan struct{}) // is closed when all clients are
	go func() {
		for n := 0; n < clients; time.Sleep(time.Millisecond) {
			if err := plain.QueryRowContext(t.Context(), "select count(*) from pg_stat_activity where state = 'active' and query = '"+sleep+"'").Scan(&n); err != nil {
				return // the test has ended
			}
		}
		close(asleep)
	}()
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			ctx := context.WithValue(t.Context(), traceKey{}, byte(i+1))
			for n := range items {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := tx.ExecContext(ctx, "insert into items values ($1, $2)", n, fmt.Sprint("client ", i)); err != nil {
					t.Error(err)
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
			var names []string
			rows, err := db.QueryContext(ctx, "select name from items where name = $1", fmt.Sprint("client ", i))
			if err != nil {
				t.Error(err)
				return
			}
			for rows.Next() {
				var name string
				rows.Scan(&name)
				names = append(names, name)
			}
			if rows.Close(); len(names) != items || rows.Err() != nil {
				t.Errorf("%d rows: %v", len(names), rows.Err())
			}
			// Some rows are not read.
			var n int
			if err := db.QueryRowContext(ctx, "select n from items order by n").Scan(&n); n != 0 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
			if _, err := db.ExecContext(ctx, "insert into nothing values (1)"); err == nil {
				t.Error("no error")
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				select {
				case <-asleep:
					cancel()
				case <-ctx.Done():
				}
			}()
			if _, err := db.ExecContext(ctx, sleep); !errors.Is(err, context.Canceled) && !strings.Contains(fmt.Sprint(err), "canceling") {
				t.Errorf("got %v", err)
			}
		})
	}
	wait.Wait()
	counts, started := map[string]int{}, map[any]bool{}
	for _, ev := range tr.Stop() {
		a := ev.Args
		if a["db"] != "shop" {
			t.Errorf("db is %v", a["db"])
		}
		switch ev.Name {
		case "request_start":
			started[a["id"]] = true
		case "request_done":
			if !started[a["id"]] {
				t.Errorf("%v did not start", a)
			}
			if a["method"] != "connect" { // as many as the pool wants
				counts[fmt.Sprint(a["method"], " ", a["statement"], " ", a["status"])]++
			}
			if failed := a["error"] != ""; failed != (a["status"] == "error") {
				t.Errorf("got %v", a)
			}
		case "rows_done":
			counts[fmt.Sprint("rows ", a["statement"], " ", a["rows"])]++
		}
	}
	want := map[string]int{
		"begin  ok": clients * items, "commit  ok": clients * items,
		"exec insert into items values ($1, $2) ok":       clients * items,
		"query select name from items where name = $1 ok": clients,
		"rows select name from items where name = $1 10":  clients,
		"query select n from items order by n ok":         clients,
		"rows select n from items order by n 1":           clients,
		"exec insert into nothing values (1) error":       clients,
		"exec select pg_sleep(60) error":                  clients,
	}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", counts, want)
	}
	// begin, exec and commit of each item, and four calls of its own; connections besides
	got := 0
	for _, ev := range one.Stop() {
		if ev.Args["method"] != "connect" {
			got++
		}
	}
	if got != 3*items+4 {
		t.Errorf("%d calls of one trace, want %d", got, 3*items+4)
	}
}
