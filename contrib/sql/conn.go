package usdtsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// conn is a driver's connection. Its methods have no effect on database/sql where the driver's
// connection lacks them; see like for the rest.
type conn struct {
	below driver.Conn
	opts  *Options
	tx    tx // a connection has one at a time
}

func (c *conn) unwrap() driver.Conn { return c.below }

func (c *conn) Close() error { return c.below.Close() }

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	r := c.opts.request(ctx, "prepare", query)
	s, err := c.prepare(ctx, query)
	r.end(err)
	if err != nil || s == nil {
		return s, err
	}
	return (&stmt{s, c, query}).like(), nil
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if below, ok := c.below.(driver.ConnPrepareContext); ok {
		return below.PrepareContext(ctx, query)
	}
	s, err := c.below.Prepare(query)
	if err == nil && ended(ctx) {
		s.Close()
		return nil, ctx.Err()
	}
	return s, err
}

func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	r := c.opts.request(ctx, "begin", "")
	t, err := c.begin(ctx, opts)
	r.end(err)
	if err != nil || t == nil {
		return t, err
	}
	c.tx = tx{t, c.opts, ctx}
	return &c.tx, nil
}

func (c *conn) begin(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if below, ok := c.below.(driver.ConnBeginTx); ok {
		return below.BeginTx(ctx, opts)
	}
	// The following code, with its errors, is what database/sql does in this case.
	if opts.Isolation != driver.IsolationLevel(sql.LevelDefault) {
		return nil, errors.New("sql: driver does not support non-default isolation level")
	}
	if opts.ReadOnly {
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	//lint:ignore SA1019 a driver may have no other
	t, err := c.below.Begin()
	if err == nil && ended(ctx) {
		t.Rollback()
		return nil, ctx.Err()
	}
	return t, err
}

// Ping succeeds where the driver has none, as in database/sql.
func (c *conn) Ping(ctx context.Context) error {
	below, ok := c.below.(driver.Pinger)
	if !ok {
		return nil
	}
	r := c.opts.request(ctx, "ping", "")
	err := below.Ping(ctx)
	r.end(err)
	return err
}

// CheckNamedValue leaves the value to database/sql where the driver does not check it.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if below, ok := c.below.(driver.NamedValueChecker); ok {
		return below.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// ended reports whether ctx has ended.
func ended(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// positional returns arguments for methods that take none with names, and no context: the
// error is the context's if it has ended.
func positional(ctx context.Context, args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	if ended(ctx) {
		return nil, ctx.Err()
	}
	return values, nil
}

type tx struct {
	below driver.Tx
	opts  *Options
	ctx   context.Context // in which it began
}

func (t *tx) Commit() error { return t.end("commit", t.below.Commit) }

func (t *tx) Rollback() error { return t.end("rollback", t.below.Rollback) }

func (t *tx) end(method string, end func() error) error {
	r := t.opts.request(t.ctx, method, "")
	t.ctx = context.Background() // the connection lives longer than what began it
	err := end()
	r.end(err)
	return err
}
