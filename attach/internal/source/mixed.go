package source

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-usdt/usdt/attach/internal/query"
)

// mixed is a source that has the records of two others.
type mixed struct {
	kernel  Source
	local   *Rings
	stopped atomic.Bool // both
}

// With returns a source that also has the records of another one, unless that is nil.
func (r *Rings) With(kernel Source) (Source, error) {
	if kernel == nil {
		return r, nil
	}
	return &mixed{kernel: kernel, local: r}, nil
}

func (m *mixed) Next(buf []byte) (rec []byte, more bool, err error) {
	for pause := ringSoon; ; pause = min(2*pause, ringLate) {
		stopped := m.stopped.Load()
		for _, s := range []Source{m.local, m.kernel} {
			if !s.Available() {
				continue
			}
			rec, more, err := s.Next(buf)
			if err != ErrEnd {
				return rec, more, err
			}
		}
		if stopped {
			return nil, false, ErrEnd
		}
		if !m.local.cut.Load() {
			time.Sleep(pause)
		}
	}
}

func (m *mixed) Nap() {} // nobody waits to be woken up: next looks again and again

func (m *mixed) Available() bool { return m.local.Available() || m.kernel.Available() }

func (m *mixed) Stop() error {
	err := cmp.Or(m.local.Stop(), m.kernel.Stop())
	m.stopped.Store(true)
	return err
}

func (m *mixed) Drain() uint64 { return m.local.Drain() + m.kernel.Drain() }

func (m *mixed) Rounds() uint64 { return m.local.Rounds() }

func (m *mixed) AddFaults(all map[query.Fault]uint64) {
	m.local.AddFaults(all)
	m.kernel.AddFaults(all)
}

func (m *mixed) Counts() (Counts, error) {
	st, err := m.kernel.Counts()
	more, localErr := m.local.Counts()
	st.add(more)
	return st, cmp.Or(err, localErr)
}

func (m *mixed) Close() error { return errors.Join(m.local.Close(), m.kernel.Close()) }

// counted is a source of programs that add up events and record none.
type counted struct{ count func() (Counts, error) }

// NewCounted returns the source of programs that count by themselves.
func NewCounted(count func() (Counts, error)) Source { return &counted{count} }

func (c *counted) Next([]byte) ([]byte, bool, error) { return nil, false, ErrEnd }
func (c *counted) Nap()                              {}
func (c *counted) Available() bool                   { return false }
func (c *counted) Stop() error                       { return nil }
func (c *counted) Drain() uint64                     { return 0 }
func (c *counted) Counts() (Counts, error)           { return c.count() }
func (c *counted) Rounds() uint64                    { return 0 }
func (c *counted) AddFaults(map[query.Fault]uint64)  {}
func (c *counted) Close() error                      { return nil }
