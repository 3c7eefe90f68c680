package usdtsql

import (
	"database/sql/driver"
	"io"
	"reflect"
	"time"

	"github.com/go-usdt/usdt/provider"
)

// rows are the rows of a query that began while somebody watched. For what the driver's do
// not implement they say what database/sql assumes then.
type rows struct {
	driver.Rows
	of  *request
	n   uint64
	err error
}

// rows returns the result of a query, which counts its rows if somebody watched.
func (r *request) rows(below driver.Rows, err error) (driver.Rows, error) {
	if r == nil || err != nil || below == nil {
		return below, err
	}
	return (&rows{Rows: below, of: r}).like(), nil
}

func (r *rows) Next(dest []driver.Value) error { return r.count(r.Rows.Next(dest)) }

// count counts a row, or notes why there is none.
func (r *rows) count(err error) error {
	switch err {
	case nil:
		r.n++
	case io.EOF:
	default:
		r.err = err
	}
	return err
}

func (r *rows) Close() error {
	err := r.Rows.Close()
	if of := r.of; of != nil {
		r.of = nil
		if r.err == nil {
			r.err = err
		}
		rowsDone.Fire(&rowsEnd{of.call, r.n, time.Since(of.begin), provider.Error(r.err)})
	}
	return err
}

func (r *rows) HasNextResultSet() bool {
	below, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && below.HasNextResultSet()
}

func (r *rows) NextResultSet() error {
	if below, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return below.NextResultSet()
	}
	return io.EOF
}

func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if below, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return below.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	if below, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return below.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	if below, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return below.ColumnTypeLength(i)
	}
	return 0, false
}

func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if below, ok := r.Rows.(driver.RowsColumnTypeNullable); ok {
		return below.ColumnTypeNullable(i)
	}
	return false, false
}

func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if below, ok := r.Rows.(driver.RowsColumnTypePrecisionScale); ok {
		return below.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
