// Package session is what sdttrace asks of what it attaches: sessions, aggregates, and events with
// pairs of probes.
package session

import (
	"context"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/command"
	"github.com/go-usdt/usdt/total"
)

// Session is a session or an aggregate, which can look for new probes.
type Session interface {
	command.Searcher
	Via() attach.Via
	Plan() attach.Plan
	Stats() (attach.Stats, error)
	Refused() []error
	Faults() []attach.Fault
	PlanSince(n int) (attach.Plan, int)
	Pending() int
	Wait(context.Context) error
	Close() error
}

// Aggregate is an attach.Aggregate or an attach.Latency.
type Aggregate interface {
	Session
	Read() ([]total.Group, error)
	Stop() error
	Done() <-chan struct{}
}
