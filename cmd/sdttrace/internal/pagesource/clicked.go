package pagesource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/format"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/page"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/remark"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/serve"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/printable"
)

// Clicked is what a page has attached to: a session for each probe.
type Clicked struct {
	ctx      context.Context
	what     *attach.EventOptions
	opts     *attach.Options
	page     *page.Page
	meanings format.Meanings
	failed   func(error) error // says what an error of opening means to users

	changing sync.Mutex // held while a probe is attached to, or detached from
	mu       sync.Mutex
	sessions map[serve.Probe]*click
	changed  time.Time
	past     attach.Stats // of sessions that have ended
	lost     []attach.Loss
}

// click is a session of a page.
type click struct {
	session *attach.Session
	done    chan struct{} // closed when all its events are on the page
	err     error         // of its events, once done is closed
}

// maxClicked bounds the buffers between the kernel and sdttrace.
const maxClicked = 64

// NewClicked returns what a page may attach to. openError says what an error of opening means to
// users.
func NewClicked(ctx context.Context, what *attach.EventOptions, opts *attach.Options, p *page.Page, meanings format.Meanings, openError func(error) error) *Clicked {
	return &Clicked{ctx: ctx, what: what, opts: opts, page: p, meanings: meanings, failed: openError, sessions: map[serve.Probe]*click{}}
}

// Change attaches to a probe, or detaches from it, by a session that is done when c.ctx is.
// It does nothing if the probe is already as wanted.
func (c *Clicked) Change(_ context.Context, wanted serve.Change) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	all := c.all()
	running := all[wanted.Probe]
	switch {
	case wanted.Attach == (running != nil):
		return nil
	case !wanted.Attach:
		return c.detach(wanted.Probe, running)
	case len(all) >= maxClicked:
		return serve.RequestError(printable.Many(maxClicked, "probe is", "probes are") + " attached to: detach from one of them first")
	case strings.ContainsAny(wanted.Provider+wanted.Name, `:*?[]\`):
		return serve.RequestError("its name has characters of patterns: trace it by sdttrace PROBE")
	}
	s, err := attach.OpenEvents(c.ctx, []string{wanted.Provider + ":" + wanted.Name}, c.what, c.opts)
	if err != nil {
		return c.failed(err)
	}
	running = &click{session: s, done: make(chan struct{})}
	c.mu.Lock()
	c.sessions[wanted.Probe], c.changed = running, time.Now()
	c.mu.Unlock()
	go func() {
		defer close(running.done)
		meanings := c.meanings // a session's own, since they know what its numbers mean
		meanings.Forget()
		fill := &Filler{Page: c.page, Meanings: &meanings}
		running.err = fill.add(session.OfEvents(s), nil)
	}()
	return nil
}

func (c *Clicked) detach(probe serve.Probe, running *click) error {
	err := running.session.Stop()
	<-running.done // when the page has all of its events
	err = errors.Join(err, running.session.Close())
	st, failed := running.session.Stats()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, probe)
	c.changed = time.Now()
	c.past.Add(st)
	c.lost = append(c.lost, running.session.Losses()...)
	return errors.Join(running.err, err, failed)
}

// Close detaches from everything.
func (c *Clicked) Close(stderr io.Writer) {
	c.changing.Lock()
	defer c.changing.Unlock()
	for probe, running := range c.all() {
		if err := c.detach(probe, running); err != nil {
			fmt.Fprintf(stderr, "sdttrace: %s:%s: %v\n", probe.Provider, probe.Name, err)
		}
		remark.Closing(running.session, stderr)
	}
}

// all returns the sessions.
func (c *Clicked) all() map[serve.Probe]*click {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.sessions)
}

func (c *Clicked) has(p serve.Probe) bool { return c.all()[p] != nil }

// since reports whether something was attached to or detached from since a time.
func (c *Clicked) since(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed.After(t)
}

// Stats adds up all sessions.
func (c *Clicked) Stats() attach.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.past
	for _, running := range c.sessions {
		if st, err := running.session.Stats(); err == nil {
			sum.Add(st)
		}
	}
	return sum
}

// Losses returns when events of all sessions were lost.
func (c *Clicked) Losses() []page.Loss {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.lost)
	for _, running := range c.sessions {
		all = append(all, running.session.Losses()...)
	}
	slices.SortFunc(all, func(a, b attach.Loss) int { return a.From.Compare(b.From) })
	return pageLosses(all)
}
