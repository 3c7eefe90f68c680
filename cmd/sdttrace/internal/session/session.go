// Package session is what sdttrace asks of what it attaches: sessions, aggregates, and events with
// pairs of probes.
package session

import (
	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/total"
)

// Session is what sdttrace attaches, of any kind.
type Session = attach.Tracer

// Aggregate is an attach.Aggregate or an attach.Latency.
type Aggregate interface {
	Session
	Read() ([]total.Group, error)
	Stop() error
	Done() <-chan struct{}
}
