package attach

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"
)

// mixed is a source that has the records of two others.
type mixed struct {
	kernel  source
	local   *rings
	stopped atomic.Bool // both
}

func (m *mixed) next(buf []byte) (rec []byte, more bool, err error) {
	for pause := ringSoon; ; pause = min(2*pause, ringLate) {
		stopped := m.stopped.Load()
		for _, s := range []source{m.local, m.kernel} {
			if !s.available() {
				continue
			}
			rec, more, err := s.next(buf)
			if err != errEnd {
				return rec, more, err
			}
		}
		if stopped {
			return nil, false, errEnd
		}
		if !m.local.cut.Load() {
			time.Sleep(pause)
		}
	}
}

func (m *mixed) nap() {} // nobody waits to be woken up: next looks again and again

func (m *mixed) available() bool { return m.local.available() || m.kernel.available() }

func (m *mixed) stop() error {
	err := cmp.Or(m.local.stop(), m.kernel.stop())
	m.stopped.Store(true)
	return err
}

func (m *mixed) drain() uint64 { return m.local.drain() + m.kernel.drain() }

func (m *mixed) counts() (Stats, error) {
	st, err := m.kernel.counts()
	more, localErr := m.local.counts()
	st.Add(more)
	return st, cmp.Or(err, localErr)
}

func (m *mixed) close() error { return errors.Join(m.local.close(), m.kernel.close()) }

// counted is a source of programs that add up events and record none.
type counted struct{ count func() (Stats, error) }

func (c *counted) next([]byte) ([]byte, bool, error) { return nil, false, errEnd }
func (c *counted) nap()                              {}
func (c *counted) available() bool                   { return false }
func (c *counted) stop() error                       { return nil }
func (c *counted) drain() uint64                     { return 0 }
func (c *counted) counts() (Stats, error)            { return c.count() }
func (c *counted) close() error                      { return nil }
