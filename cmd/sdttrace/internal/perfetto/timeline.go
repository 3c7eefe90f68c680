package perfetto

import (
	"cmp"
	"context"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
)

// Timeline writes what a session delivers until limit events and pairs are written, 0 for no limit,
// or no more come. Then it calls cancel. It flushes the output if no event follows now. The error is
// the first of an event, which others follow.
func (w *Writer) Timeline(t *session.Timeline, limit uint64, cancel context.CancelFunc) (first error) {
	flushes := t.Matched() && t.Via() != attach.ViaKernel
	n := uint64(0)
	another := func() bool {
		if limit > 0 && n == limit {
			return false
		}
		n++
		return true
	}
	t.Each(func(one *session.Delivered, err error) bool {
		first = cmp.Or(first, err)
		if one.Event != nil && one.Event.Probe != nil && another() {
			w.Event(one.Event)
		}
		for i := range one.Pairs {
			if p := &one.Pairs[i]; p.Start.Probe != nil && one.End.Probe != nil && another() {
				w.Slice(&p.Start, one.End, len(t.Spans[p.Span].Key) > 0)
			}
		}
		idle := flushes || t.Idle()
		if limit > 0 && n == limit || idle && w.Flush() != nil || w.Err() != nil {
			cancel()
			return false
		}
		return true
	})
	return first
}
