package usdtsql_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// calls is what a fake driver was asked to do. Its types have an optional interface each,
// and are put together to drivers that have any of them.
type calls struct {
	lines []string
	stmt  func(*calls) driver.Stmt
	rows  func(*calls) driver.Rows
	skip  bool // execers and queryers leave all to statements
}

func (c *calls) add(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// odd is an argument that database/sql refuses unless a driver checks it.
type odd struct{ text string }

type conn struct{ *calls }

func (c conn) Close() error { c.add("conn.Close"); return nil }
func (c conn) Prepare(q string) (driver.Stmt, error) {
	c.add("conn.Prepare %s", q)
	return c.stmt(c.calls), nil
}
func (c conn) Begin() (driver.Tx, error) { c.add("conn.Begin"); return tx(c), nil }

type pings struct{ *calls }

func (c pings) Ping(context.Context) error { c.add("Ping"); return errors.New("no answer") }

type execsContext struct{ *calls }

func (c execsContext) ExecContext(_ context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	c.add("ExecContext %s %v", q, args)
	if c.skip {
		return nil, driver.ErrSkip
	}
	return driver.RowsAffected(1), nil
}

type execs struct{ *calls }

func (c execs) Exec(q string, args []driver.Value) (driver.Result, error) {
	c.add("Exec %s %v", q, args)
	return driver.RowsAffected(2), nil
}

type queriesContext struct{ *calls }

func (c queriesContext) QueryContext(_ context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	c.add("QueryContext %s %v", q, args)
	if c.skip {
		return nil, driver.ErrSkip
	}
	return c.rows(c.calls), nil
}

type queries struct{ *calls }

func (c queries) Query(q string, args []driver.Value) (driver.Rows, error) {
	c.add("Query %s %v", q, args)
	return c.rows(c.calls), nil
}

type prepares struct{ *calls }

func (c prepares) PrepareContext(_ context.Context, q string) (driver.Stmt, error) {
	c.add("PrepareContext %s", q)
	return c.stmt(c.calls), nil
}

type begins struct{ *calls }

func (c begins) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.add("BeginTx %v", o)
	return tx(c), nil
}

type resets struct{ *calls }

func (c resets) ResetSession(context.Context) error { c.add("ResetSession"); return nil }

type validates struct{ *calls }

func (c validates) IsValid() bool { c.add("IsValid"); return true }

// checks is a NamedValueChecker of a connection or a statement.
type checks struct{ *calls }

func (c checks) CheckNamedValue(v *driver.NamedValue) error {
	c.add("CheckNamedValue %v", *v)
	if o, ok := v.Value.(odd); ok {
		v.Value = "checked " + o.text
		return nil
	}
	return driver.ErrSkip
}

type tx struct{ *calls }

func (t tx) Commit() error   { t.add("Commit"); return nil }
func (t tx) Rollback() error { t.add("Rollback"); return nil }

type stmt struct{ *calls }

func (s stmt) Close() error  { s.add("stmt.Close"); return nil }
func (s stmt) NumInput() int { return -1 }
func (s stmt) Exec(args []driver.Value) (driver.Result, error) {
	s.add("stmt.Exec %v", args)
	return driver.RowsAffected(3), nil
}
func (s stmt) Query(args []driver.Value) (driver.Rows, error) {
	s.add("stmt.Query %v", args)
	return s.rows(s.calls), nil
}

type stmtExecs struct{ *calls }

func (s stmtExecs) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.add("stmt.ExecContext %v", args)
	return driver.RowsAffected(4), nil
}

type stmtQueries struct{ *calls }

func (s stmtQueries) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.add("stmt.QueryContext %v", args)
	return s.rows(s.calls), nil
}

type converts struct{ *calls }

func (c converts) ColumnConverter(i int) driver.ValueConverter { return column(c) }

type column struct{ *calls }

func (c column) ConvertValue(v any) (driver.Value, error) {
	c.add("ConvertValue %v", v)
	if o, ok := v.(odd); ok {
		return "converted " + o.text, nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// rows are two result sets, of which the second is only seen if moreSets is there.
type rows struct {
	*calls
	n *int
}

func newRows(c *calls) driver.Rows { return rows{c, new(int)} }

func (r rows) Columns() []string { return []string{"a"} }
func (r rows) Close() error      { r.add("rows.Close"); return nil }
func (r rows) Next(dest []driver.Value) error {
	if *r.n++; *r.n%3 == 0 {
		return io.EOF
	}
	dest[0] = int64(*r.n)
	return nil
}

type moreSets struct{ n *int }

func (m moreSets) HasNextResultSet() bool { return *m.n < 4 }
func (m moreSets) NextResultSet() error {
	if *m.n >= 4 {
		return io.EOF
	}
	*m.n = 3
	return nil
}

type scanTypes struct{}

func (scanTypes) ColumnTypeScanType(int) reflect.Type { return reflect.TypeFor[int64]() }

type typeNames struct{}

func (typeNames) ColumnTypeDatabaseTypeName(int) string { return "INT8" }

type lengths struct{}

func (lengths) ColumnTypeLength(int) (int64, bool) { return 8, true }

type nullables struct{}

func (nullables) ColumnTypeNullable(int) (nullable, ok bool) { return true, true }

type precisions struct{}

func (precisions) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) { return 9, 2, true }
