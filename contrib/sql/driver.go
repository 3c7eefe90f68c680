package usdtsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
)

// Open opens a database as sql.Open does, by the driver registered under driverName.
func Open(driverName, dataSourceName string, opts *Options) (*sql.DB, error) {
	db, err := sql.Open(driverName, dataSourceName)
	if err != nil {
		return nil, err
	}
	d := db.Driver()
	db.Close() // it has made no connection
	if d, ok := d.(driver.DriverContext); ok {
		c, err := d.OpenConnector(dataSourceName)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(Connector(c, opts)), nil
	}
	return sql.OpenDB(Connector(named{dataSourceName, d}, opts)), nil
}

// named is the connector of a driver that has none.
type named struct {
	name   string
	driver driver.Driver
}

func (n named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }
func (n named) Driver() driver.Driver                        { return n.driver }

// Driver returns a driver for sql.Register whose calls fire probes.
func Driver(d driver.Driver, opts *Options) driver.Driver {
	w := &wrappedDriver{d, orDefault(opts)}
	if below, ok := d.(driver.DriverContext); ok {
		return &contextDriver{w, below}
	}
	return w
}

func orDefault(opts *Options) *Options {
	if opts == nil {
		return &Options{}
	}
	o := *opts
	return &o
}

type wrappedDriver struct {
	below driver.Driver
	opts  *Options
}

func (d *wrappedDriver) Open(name string) (driver.Conn, error) {
	r := d.opts.request(context.Background(), "connect", "")
	c, err := d.below.Open(name)
	return d.opts.connected(r, c, err)
}

type contextDriver struct {
	*wrappedDriver
	below driver.DriverContext
}

func (d *contextDriver) OpenConnector(name string) (driver.Connector, error) {
	c, err := d.below.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return &connector{c, d.opts, d}, nil
}

// Connector returns a connector for sql.OpenDB whose calls fire probes. sql.DB.Driver
// returns the driver of c.
func Connector(c driver.Connector, opts *Options) driver.Connector {
	return &connector{c, orDefault(opts), c.Driver()}
}

type connector struct {
	below  driver.Connector
	opts   *Options
	driver driver.Driver
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	r := c.opts.request(ctx, "connect", "")
	below, err := c.below.Connect(ctx)
	return c.opts.connected(r, below, err)
}

func (c *connector) Driver() driver.Driver { return c.driver }

// Close is called by sql.DB.Close.
func (c *connector) Close() error {
	if below, ok := c.below.(io.Closer); ok {
		return below.Close()
	}
	return nil
}

func (o *Options) connected(r *request, c driver.Conn, err error) (driver.Conn, error) {
	r.end(err)
	if err != nil || c == nil {
		return c, err
	}
	return (&conn{below: c, opts: o}).like(), nil
}

// Unwrap returns the driver's own connection:
//
//	err := c.Raw(func(dc any) error {
//		own := usdtsql.Unwrap(dc).(*stdlib.Conn)
//		…
//
// It returns a connection that is not wrapped as it is.
func Unwrap(dc any) any {
	for {
		w, ok := dc.(interface{ unwrap() driver.Conn })
		if !ok {
			return dc
		}
		dc = w.unwrap()
	}
}
