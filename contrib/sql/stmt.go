package usdtsql

import (
	"context"
	"database/sql/driver"
)

// stmt is a driver's statement. As of a connection, what it implements has no effect
// where the driver's does not.
type stmt struct {
	driver.Stmt
	of    *conn
	query string
}

// like returns s with a ColumnConverter if the driver's statement has one: database/sql
// converts arguments otherwise where there is one.
func (s *stmt) like() driver.Stmt {
	//lint:ignore SA1019 a driver may have no other
	if c, ok := s.Stmt.(driver.ColumnConverter); ok {
		return struct {
			*stmt
			columnConverter
		}{s, c}
	}
	return s
}

// CheckNamedValue hides the connection's from database/sql, and therefore calls it.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if below, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return below.CheckNamedValue(v)
	}
	return s.of.CheckNamedValue(v)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r := s.of.opts.request(ctx, "exec", s.query)
	result, err := s.exec(ctx, args)
	r.end(err)
	return result, err
}

func (s *stmt) exec(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if below, ok := s.Stmt.(driver.StmtExecContext); ok {
		return below.ExecContext(ctx, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 a driver may have no other
	return s.Stmt.Exec(values)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r := s.of.opts.request(ctx, "query", s.query)
	rows, err := s.rows(ctx, args)
	r.end(err)
	return r.rows(rows, err)
}

func (s *stmt) rows(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if below, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return below.QueryContext(ctx, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 a driver may have no other
	return s.Stmt.Query(values)
}

// columnConverter is a name other than its method's, which a field of that name would hide.
type columnConverter interface {
	driver.ColumnConverter //lint:ignore SA1019 a driver may have no other
}
