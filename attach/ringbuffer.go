package attach

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach/internal/kernel"
	"github.com/go-usdt/usdt/attach/internal/query"
)

// kernelRing is the source that programs in the kernel write to.
type kernelRing struct {
	reader   *ringbuf.Reader
	position *kernel.RingPosition
	omit     query.Omit            // what its records lack
	record   ringbuf.Record        // for next
	count    func() (Stats, error) // by the programs
}

func newRing(m *maps, omit query.Omit, count func() (Stats, error)) (source, error) {
	reader, err := ringbuf.NewReader(m.Ring)
	if err != nil {
		return nil, fmt.Errorf("read ring buffer: %w", err)
	}
	position, err := kernel.MapRingPosition(m.Ring.FD())
	if err != nil {
		reader.Close()
		return nil, fmt.Errorf("read ring buffer: %w", err)
	}
	return &kernelRing{reader: reader, position: position, omit: omit, count: count}, nil
}

// nap relies on next having returned a record: the reader then looks into the buffer
// before it waits.
func (r *kernelRing) nap() { r.position.StepBack() }

func (r *kernelRing) next(buf []byte) (rec []byte, more bool, err error) {
	r.position.Return()
	r.record.RawSample = buf
	switch err := r.reader.ReadInto(&r.record); {
	case errors.Is(err, ringbuf.ErrFlushed):
		return nil, false, errEnd
	case err != nil:
		return nil, false, fmt.Errorf("read event: %w", err)
	}
	return r.omit.Expand(r.record.RawSample), r.record.Remaining > 0, nil
}

// available relies on any record being longer than the step of nap.
func (r *kernelRing) available() bool { return r.reader.AvailableBytes() > kernel.RingStep }

func (r *kernelRing) stop() error {
	if err := r.reader.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("wake up the reader of events: %w", err)
	}
	return nil
}

func (r *kernelRing) drain() (n uint64) {
	r.position.Return()
	r.reader.SetDeadline(time.Unix(1, 0))
	var record ringbuf.Record
	for {
		err := r.reader.ReadInto(&record)
		switch {
		case err == nil:
			n++
		case !errors.Is(err, ringbuf.ErrFlushed):
			return n
		}
	}
}

func (r *kernelRing) counts() (Stats, error) { return r.count() }
func (r *kernelRing) close() error           { return cmp.Or(r.reader.Close(), r.position.Close()) }
