package usdtsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-usdt/usdt/contrib/sql"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider"
	"github.com/go-usdt/usdt/provider/providertest"
)

// all returns the arguments of events.
func all(events []providertest.Event) (list []map[string]any) {
	for _, ev := range events {
		list = append(list, fired.Args(ev))
	}
	return list
}

// fakeContext is a driver that makes connectors.
type fakeContext struct{ fake }

func (f fakeContext) OpenConnector(name string) (driver.Connector, error) {
	if name == "wrong" {
		return nil, errors.New("wrong name")
	}
	return contextConnector{fakeCloser(f)}, nil
}

type contextConnector struct{ fakeCloser }

func (c contextConnector) Driver() driver.Driver { return fakeContext{c.fake} }

func newFake() fake {
	return fake{&calls{stmt: stmts[0], rows: results[0]}, conns[len(conns)-1]}
}

// TestOpen opens databases in each way, by drivers that make connectors or do not.
func TestOpen(t *testing.T) {
	plain, withContext := newFake(), fakeContext{newFake()}
	sql.Register("plain", plain)
	sql.Register("context", withContext)
	sql.Register("plain+usdt", usdtsql.Driver(plain, &usdtsql.Options{DB: "shop"}))
	sql.Register("context+usdt", usdtsql.Driver(withContext, &usdtsql.Options{DB: "shop"}))
	open := func(name string) func() (*sql.DB, error) {
		return func() (*sql.DB, error) { return sql.Open(name, "name") }
	}
	ours := func(name string) func() (*sql.DB, error) {
		return func() (*sql.DB, error) { return usdtsql.Open(name, "name", &usdtsql.Options{DB: "shop"}) }
	}
	for _, test := range []struct {
		name   string
		open   func() (*sql.DB, error)
		calls  *calls
		closes bool
		driver string // the type; of sql.Open, the driver that was registered
	}{
		{"sql.Open plain", open("plain+usdt"), plain.calls, false, "*usdtsql.wrappedDriver"},
		{"sql.Open context", open("context+usdt"), withContext.calls, true, "*usdtsql.contextDriver"},
		{"Open plain", ours("plain"), plain.calls, false, "usdtsql_test.fake"},
		{"Open context", ours("context"), withContext.calls, true, "usdtsql_test.fakeContext"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := providertest.Record(t, probes)
			db, err := test.open()
			if err != nil {
				t.Fatal(err)
			}
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.Raw(func(dc any) error {
				if _, ok := usdtsql.Unwrap(dc).(interface{ IsValid() bool }); !ok || fmt.Sprintf("%T", usdtsql.Unwrap(dc)) != fmt.Sprintf("%T", conns[len(conns)-1](nil)) {
					t.Errorf("the connection is a %T", usdtsql.Unwrap(dc))
				}
				return nil
			})
			c.Close()
			if d := fmt.Sprintf("%T", db.Driver()); d != test.driver {
				t.Errorf("the driver is a %s, want %s", d, test.driver)
			}
			test.calls.lines = nil
			db.Close()
			if closed := slices.Contains(test.calls.lines, "connector.Close"); closed != test.closes {
				t.Errorf("the connector was closed: %v, want %v", closed, test.closes)
			}
			if got := all(rec.Events("request_done")); len(got) != 1 || got[0]["method"] != "connect" || got[0]["db"] != "shop" || got[0]["status"] != "ok" {
				t.Errorf("fired %v", got)
			}
		})
	}
	if _, err := usdtsql.Open("context", "wrong", nil); err == nil {
		t.Error("a wrong name gives no error")
	}
	if _, err := usdtsql.Open("nobody's", "name", nil); err == nil {
		t.Error("an unknown driver gives no error")
	}
}

// TestSkip checks what fires where a driver leaves a statement to database/sql.
func TestSkip(t *testing.T) {
	rec := providertest.Record(t, probes)
	f := newFake()
	f.skip = true
	db := sql.OpenDB(usdtsql.Connector(f, nil))
	defer db.Close()
	if _, err := db.Exec("change"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all(rec.Events("request_done")) {
		got = append(got, fmt.Sprint(d["method"], " ", d["statement"], " ", d["status"], d["error"]))
	}
	if want := []string{"connect  ok", "exec change skip", "prepare change ok", "exec change ok"}; !slices.Equal(got, want) {
		t.Errorf("fired %q, want %q", got, want)
	}
}

// TestKnown checks that package prototype knows the probes.
func TestKnown(t *testing.T) { fired.Known(t, "sql", 3) }

// TestAllocs checks that unwatched statements and transactions take no allocation more.
func TestAllocs(t *testing.T) {
	use := func(c driver.Connector) func() {
		db := sql.OpenDB(c)
		t.Cleanup(func() { db.Close() })
		return func() {
			db.Exec("change")
			tx, _ := db.Begin()
			tx.Commit()
		}
	}
	fired.NoAllocs(t, use(idle{}), use(usdtsql.Connector(idle{}, nil)))
}

// BenchmarkUnwatched executes and asks by a driver that does nothing, and by one that is
// wrapped.
func BenchmarkUnwatched(b *testing.B) {
	if err := provider.LoadAll(nil); err != nil {
		b.Fatal(err)
	}
	defer provider.CloseAll()
	for _, c := range []struct {
		name      string
		connector driver.Connector
	}{{"bare", idle{}}, {"wrapped", usdtsql.Connector(idle{}, nil)}} {
		db := sql.OpenDB(c.connector)
		defer db.Close()
		for name, do := range map[string]func(){
			"exec": func() { db.Exec("change") },
			"tx": func() {
				t, _ := db.Begin()
				t.Commit()
			},
		} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					do()
				}
			})
		}
	}
}

// idle is a driver that does nothing.
type idle struct{ driver.Stmt }

func (i idle) Connect(context.Context) (driver.Conn, error) { return i, nil }
func (i idle) Driver() driver.Driver                        { return i }
func (i idle) Open(string) (driver.Conn, error)             { return i, nil }
func (i idle) Prepare(string) (driver.Stmt, error)          { return i, nil }
func (i idle) Begin() (driver.Tx, error)                    { return i, nil }
func (idle) Close() error                                   { return nil }
func (idle) Commit() error                                  { return nil }
func (idle) Rollback() error                                { return nil }
func (idle) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}
