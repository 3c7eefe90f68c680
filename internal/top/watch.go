package top

import (
	"context"
	"sync"
)

// watch is what is looked at of one probe: it is opened and closed in the background,
// since both may take long.
type watch struct {
	title  string
	cancel context.CancelFunc

	mu      sync.Mutex // of what follows
	tracing Tracing
	err     error
	closed  bool
}

// watches are all that were opened.
type watches struct {
	current *watch
	working sync.WaitGroup // openings and closings that are under way
}

// open begins to trace in place of what was traced before.
func (s *watches) open(title string, open func(context.Context) (Tracing, error)) {
	s.close()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{title: title, cancel: cancel}
	s.current = w
	s.working.Go(func() {
		tracing, err := open(ctx)
		w.mu.Lock()
		closed := w.closed
		if !closed {
			w.tracing, w.err = tracing, err
		}
		w.mu.Unlock()
		if closed && err == nil {
			tracing.Close()
		}
	})
}

// close ends what is traced.
func (s *watches) close() {
	w := s.current
	if w == nil {
		return
	}
	s.current = nil
	w.cancel()
	w.mu.Lock()
	w.closed = true
	tracing := w.tracing
	w.mu.Unlock()
	if tracing != nil {
		s.working.Go(func() { tracing.Close() })
	}
}

// end closes everything, and returns when that is done.
func (s *watches) end() {
	s.close()
	s.working.Wait()
}

// lines returns the last n lines of what is traced.
func (w *watch) lines(n int) []string {
	w.mu.Lock()
	tracing, err := w.tracing, w.err
	w.mu.Unlock()
	switch {
	case err != nil:
		return []string{err.Error()}
	case tracing == nil:
		return []string{"attaching …"}
	}
	return tracing.Lines(n)
}
