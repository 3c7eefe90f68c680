package link

import (
	"context"
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach/internal/shield"
	"github.com/go-usdt/usdt/internal/heldup"
)

// patient makes calls that may take for ever, as long as another tracer or a grace period keeps the
// kernel's locks, and gives up waiting for them when its context is done.
type patient struct {
	ctx context.Context
	Calls
}

func (p patient) LinkMulti(g *Group, sites []int) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.LinkMulti(g, sites) })
}

func (p patient) OpenUprobe(g *Group, s *Site) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.OpenUprobe(g, s) })
}

func (p patient) LinkKernel(g *Group, sites []int) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.LinkKernel(g, sites) })
}

func (p patient) OpenKprobe(g *Group, s *Site) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.OpenKprobe(g, s) })
}

func (p patient) OpenTracepoint(g *Group, s *Site) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.OpenTracepoint(g, s) })
}

func (p patient) LinkEvent(g *Group, event int, cookie uint64) (int, error) {
	return p.wait(g, func() (int, error) { return p.Calls.LinkEvent(g, event, cookie) })
}

// moment is how long a call may take that has begun when the context is done: most end by then.
const moment = time.Second

// wait makes a call. If it goes on when wait gives up, what it opens is closed at its end.
func (p patient) wait(g *Group, call func() (int, error)) (int, error) {
	type result struct {
		fd  int
		err error
	}
	done := make(chan result, 1)
	go func() {
		fd, err := call()
		done <- result{fd, err}
	}()
	defer heldup.Watch(p.ctx, "attaching to "+g.Path)()
	select {
	case r := <-done:
		return r.fd, r.err
	case <-p.ctx.Done():
	}
	select {
	case r := <-done:
		return r.fd, r.err
	case <-time.After(moment):
	}
	go func() {
		if r := <-done; r.err == nil {
			shield.Close(r.fd)
		}
	}()
	return -1, &heldError{g.Path, context.Cause(p.ctx)}
}

// heldError is the error of a call that has not returned.
type heldError struct {
	path string
	err  error
}

func (e *heldError) Error() string {
	return fmt.Sprintf("the kernel holds up attaching to %s: %v", e.path, e.err)
}

func (e *heldError) Unwrap() error { return e.err }
