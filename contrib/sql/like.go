package usdtsql

import (
	"context"
	"database/sql/driver"
)

// These interfaces change what database/sql does by being there: it converts arguments
// before it calls an execer, which may refuse what a statement would take, and keeps a
// connection that has both others when a transaction's context ends.

type execer struct{ of *conn }

func (e execer) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r := e.of.opts.request(ctx, "exec", query)
	result, err := e.exec(ctx, query, args)
	r.end(err)
	return result, err
}

func (e execer) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if below, ok := e.of.below.(driver.ExecerContext); ok {
		return below.ExecContext(ctx, query, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 a driver may have no other
	return e.of.below.(driver.Execer).Exec(query, values)
}

type queryer struct{ of *conn }

func (q queryer) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r := q.of.opts.request(ctx, "query", query)
	rows, err := q.query(ctx, query, args)
	r.end(err)
	return r.rows(rows, err)
}

func (q queryer) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if below, ok := q.of.below.(driver.QueryerContext); ok {
		return below.QueryContext(ctx, query, args)
	}
	values, err := positional(ctx, args)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 a driver may have no other
	return q.of.below.(driver.Queryer).Query(query, values)
}

// like returns c with the interfaces, out of these, that the driver's connection has.
func (c *conn) like() driver.Conn {
	_, execs := c.below.(driver.ExecerContext)
	if !execs {
		_, execs = c.below.(driver.Execer) //lint:ignore SA1019 a driver may have no other
	}
	_, queries := c.below.(driver.QueryerContext)
	if !queries {
		_, queries = c.below.(driver.Queryer) //lint:ignore SA1019 a driver may have no other
	}
	r, resets := c.below.(driver.SessionResetter)
	v, validates := c.below.(driver.Validator)
	e, q := execer{c}, queryer{c}
	switch [4]bool{execs, queries, resets, validates} {
	case [4]bool{false, false, false, true}:
		return struct {
			*conn
			driver.Validator
		}{c, v}
	case [4]bool{false, false, true, false}:
		return struct {
			*conn
			driver.SessionResetter
		}{c, r}
	case [4]bool{false, false, true, true}:
		return struct {
			*conn
			driver.SessionResetter
			driver.Validator
		}{c, r, v}
	case [4]bool{false, true, false, false}:
		return struct {
			*conn
			queryer
		}{c, q}
	case [4]bool{false, true, false, true}:
		return struct {
			*conn
			queryer
			driver.Validator
		}{c, q, v}
	case [4]bool{false, true, true, false}:
		return struct {
			*conn
			queryer
			driver.SessionResetter
		}{c, q, r}
	case [4]bool{false, true, true, true}:
		return struct {
			*conn
			queryer
			driver.SessionResetter
			driver.Validator
		}{c, q, r, v}
	case [4]bool{true, false, false, false}:
		return struct {
			*conn
			execer
		}{c, e}
	case [4]bool{true, false, false, true}:
		return struct {
			*conn
			execer
			driver.Validator
		}{c, e, v}
	case [4]bool{true, false, true, false}:
		return struct {
			*conn
			execer
			driver.SessionResetter
		}{c, e, r}
	case [4]bool{true, false, true, true}:
		return struct {
			*conn
			execer
			driver.SessionResetter
			driver.Validator
		}{c, e, r, v}
	case [4]bool{true, true, false, false}:
		return struct {
			*conn
			execer
			queryer
		}{c, e, q}
	case [4]bool{true, true, false, true}:
		return struct {
			*conn
			execer
			queryer
			driver.Validator
		}{c, e, q, v}
	case [4]bool{true, true, true, false}:
		return struct {
			*conn
			execer
			queryer
			driver.SessionResetter
		}{c, e, q, r}
	case [4]bool{true, true, true, true}:
		return struct {
			*conn
			execer
			queryer
			driver.SessionResetter
			driver.Validator
		}{c, e, q, r, v}
	}
	return c
}
