package usdtsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"runtime"
	"testing"

	usdtsql "github.com/go-usdt/usdt/contrib/sql"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

var probes = provider.New("sql", nil)

// fake is a connector whose connections are made by conn.
type fake struct {
	*calls
	conn func(*calls) driver.Conn
}

func (f fake) Connect(context.Context) (driver.Conn, error) { return f.conn(f.calls), nil }
func (f fake) Driver() driver.Driver                        { return f }
func (f fake) Open(string) (driver.Conn, error)             { return f.conn(f.calls), nil }

type fakeCloser struct{ fake }

func (f fakeCloser) Close() error { f.add("connector.Close"); return nil }

// use does all that database/sql asks drivers for, and returns what it saw.
func use(db *sql.DB) (seen []string) {
	add := func(what string, values ...any) { seen = append(seen, fmt.Sprint(what, values)) }
	ctx := context.Background()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	affected := func(r sql.Result, err error) string {
		if err != nil {
			return err.Error()
		}
		n, err := r.RowsAffected()
		return fmt.Sprint(n, err)
	}
	read := func(r *sql.Rows, err error) {
		if err != nil {
			add("query", err)
			return
		}
		defer r.Close()
		types, err := r.ColumnTypes()
		add("types", err)
		for _, c := range types {
			length, hasLength := c.Length()
			nullable, hasNullable := c.Nullable()
			precision, scale, hasScale := c.DecimalSize()
			add("type", c.Name(), c.DatabaseTypeName(), c.ScanType(), length, hasLength, nullable, hasNullable, precision, scale, hasScale)
		}
		for more := true; more; more = r.NextResultSet() {
			for r.Next() {
				var n int
				add("row", r.Scan(&n), n)
			}
		}
		add("end", r.Err(), r.Close())
	}
	add("ping", db.PingContext(ctx))
	for _, args := range [][]any{nil, {1, "x"}, {sql.Named("n", 1)}, {odd{"one"}}} {
		add("exec", args, affected(db.ExecContext(ctx, "change", args...)))
		read(db.QueryContext(ctx, "ask", args...))
		s, err := db.PrepareContext(ctx, "prepared")
		if err != nil {
			add("prepare", err)
			continue
		}
		add("stmt.exec", args, affected(s.ExecContext(ctx, args...)))
		read(s.QueryContext(ctx, args...))
		add("close", s.Close())
	}
	for _, opts := range []*sql.TxOptions{nil, {}, {ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		for _, commit := range []bool{true, false} {
			t, err := db.BeginTx(ctx, opts)
			add("begin", err)
			if err != nil {
				continue
			}
			add("exec", affected(t.Exec("change")))
			if commit {
				add("commit", t.Commit(), t.Commit())
			} else {
				add("rollback", t.Rollback())
			}
		}
	}
	// A connection is kept, or not, when a transaction's context ends.
	ending, end := context.WithCancel(ctx)
	t, err := db.BeginTx(ending, nil)
	add("begin", err)
	end()
	for db.Stats().InUse > 0 { // until it is rolled back
		runtime.Gosched()
	}
	add("commit", t.Commit())
	add("open", db.Stats().OpenConnections)
	add("gone", db.PingContext(gone))
	add("exec", affected(db.Exec("again")))
	add("close", db.Close())
	return seen
}

// TestInterfaces uses fake drivers that have some of the optional interfaces, by
// themselves and wrapped, watched or not: database/sql asks the same of them, and users
// see the same.
func TestInterfaces(t *testing.T) {
	compared := 0
	for i, conn := range conns {
		for j, stmt := range stmts {
			for k, rows := range results {
				if k > 0 && (i > 0 || j > 0) {
					continue // interfaces of rows do not depend on the others
				}
				for _, skip := range []bool{false, true} {
					run := func(wrap func(driver.Connector) driver.Connector) (asked, seen []string) {
						c := &calls{stmt: stmt, rows: rows, skip: skip}
						seen = use(sql.OpenDB(wrap(fakeCloser{fake{c, conn}})))
						return c.lines, seen
					}
					wantAsked, wantSeen := run(func(c driver.Connector) driver.Connector { return c })
					for _, watched := range []bool{false, true} {
						t.Run("", func(t *testing.T) {
							if watched {
								providertest.Record(t, probes)
							}
							asked, seen := run(func(c driver.Connector) driver.Connector { return usdtsql.Connector(c, nil) })
							name := fmt.Sprintf("connection %d, statement %d, rows %d, skip %v, watched %v", i, j, k, skip, watched)
							compare(t, name+": asked", asked, wantAsked)
							compare(t, name+": seen", seen, wantSeen)
							compared++
						})
					}
				}
			}
		}
	}
	if compared < 700 {
		t.Errorf("%d drivers compared", compared)
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: step %d: got %s, want %s", what, i, g, w)
		}
	}
}
