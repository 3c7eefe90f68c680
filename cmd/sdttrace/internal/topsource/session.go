package topsource

import (
	"context"
	"sync"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/event"
)

// tracing traces a probe until it is closed.
type tracing struct {
	session *attach.Session
	done    chan struct{} // closed when no event follows

	mu  sync.Mutex // of what follows, and of what is made of events
	err error
}

// follow opens a session of a probe, and calls add with each event of the control group.
func (s *Source) follow(ctx context.Context, t *tracing, probe string, what *attach.EventOptions, opts *attach.Options, add func(*event.Event)) (err error) {
	if t.session, err = attach.OpenEvents(ctx, s.selectorsOf(probe), what, opts); err != nil {
		return err
	}
	t.done = make(chan struct{})
	group := s.Group
	if group != nil {
		group = group.Again()
	}
	go func() {
		defer close(t.done)
		for ev, err := range t.session.Events() {
			if err != nil && ev.Probe == nil {
				t.mu.Lock()
				t.err = err
				t.mu.Unlock()
				return
			}
			if group == nil || group.Has(ev.PID, 1) {
				add(&ev)
			}
		}
	}()
	return nil
}

// instead returns what is shown as long as there is nothing else, nil if there is.
func (t *tracing) instead(empty bool) []string {
	switch {
	case t.err != nil:
		return []string{t.err.Error()}
	case empty:
		return []string{"no event yet"}
	}
	return nil
}

func (t *tracing) Close() error {
	err := t.session.Close()
	<-t.done
	return err
}
