package serve

import (
	"context"
	"net"
	"slices"
	"sync"
)

// maxConnections bounds what processes that do not know the token take of this one's descriptors.
const maxConnections = 64

// bounded is a listener that never waits for a connection to end, since a server could not
// end meanwhile either. The oldest stranger makes room for the next connection.
type bounded struct {
	net.Listener
	mu        sync.Mutex
	open      int
	strangers []*connection // have not shown the token yet, the oldest first
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		n := &connection{Conn: c, listener: b}
		oldest, ok := b.add(n)
		if !ok {
			c.Close()
			continue
		}
		if oldest != nil {
			oldest.Close()
		}
		return n, nil
	}
}

// add counts a connection, unless there are too many that have shown the token. It returns the
// stranger that has to go.
func (b *bounded) add(c *connection) (oldest *connection, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= maxConnections {
		if len(b.strangers) == 0 {
			return nil, false
		}
		oldest = b.strangers[0]
	}
	b.open++
	b.strangers = append(b.strangers, c)
	return oldest, true
}

// forget removes a connection from the strangers.
func (b *bounded) forget(c *connection) {
	if i := slices.Index(b.strangers, c); i >= 0 {
		b.strangers = slices.Delete(b.strangers, i, i+1)
	}
}

// connection is one that a bounded listener counts.
type connection struct {
	net.Conn
	listener *bounded
	once     sync.Once
}

func (c *connection) Close() error {
	c.once.Do(func() {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.listener.open--
		c.listener.forget(c)
	})
	return c.Conn.Close()
}

// connectionKey is that of a request's connection in its context.
type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// acquainted notes that a request with the token came by its connection, which no stranger
// takes away any more.
func acquainted(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.listener.forget(c)
	}
}
