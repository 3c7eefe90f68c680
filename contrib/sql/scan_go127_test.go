//go:build go1.27

package usdtsql_test

import (
	"database/sql"
	"database/sql/driver"
	"io"
	"testing"

	"github.com/go-usdt/usdt/contrib/sql"
	"github.com/go-usdt/usdt/internal/systest/fired"
	"github.com/go-usdt/usdt/provider/providertest"
)

// scans are rows of which Go 1.27 asks for columns one by one, where it would ask
// others for values.
type scans struct{ rows }

func (s scans) NextRow() error {
	if *s.n++; *s.n > 2 {
		return io.EOF
	}
	return nil
}

func (s scans) ScanColumn(ctx driver.ScanContext, _ int, dest any) error {
	return sql.ConvertAssign(ctx, dest, int64(100+*s.n))
}

// TestScanner checks that rows which scan columns do so when they are wrapped.
func TestScanner(t *testing.T) {
	rec := providertest.Record(t, probes)
	c := &calls{stmt: stmts[0], rows: func(c *calls) driver.Rows { return scans{newRows(c).(rows)} }}
	db := sql.OpenDB(usdtsql.Connector(fake{c, conns[0]}, nil))
	defer db.Close()
	r, err := db.Query("ask")
	if err != nil {
		t.Fatal(err)
	}
	for want := 101; r.Next(); want++ {
		var got int
		if err := r.Scan(&got); got != want || err != nil {
			t.Errorf("got %d, %v; want %d", got, err, want)
		}
	}
	if done := rec.Events("rows_done"); len(done) != 1 || fired.Args(done[0])["rows"] != uint64(2) {
		t.Errorf("fired %v", done)
	}
}
