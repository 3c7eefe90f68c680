package serve

import (
	"net"
	"sync"
)

// connection makes room for another one when it is closed.
type connection struct {
	net.Conn
	once sync.Once
	room chan struct{}
}

func (c *connection) Close() error {
	c.once.Do(func() { <-c.room })
	return c.Conn.Close()
}
