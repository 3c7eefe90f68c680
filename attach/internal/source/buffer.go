package source

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/internal/kernel"
)

// kernelRing is the source that programs in the kernel write to.
type kernelRing struct {
	reader   *ringbuf.Reader
	position *kernel.RingPosition
	omit     query.Omit             // what its records lack
	record   ringbuf.Record         // for next
	count    func() (Counts, error) // by the programs
}

// NewBuffer returns the source that reads a ring buffer, whose programs count what is missing.
func NewBuffer(buffer *ebpf.Map, omit query.Omit, count func() (Counts, error)) (Source, error) {
	reader, err := ringbuf.NewReader(buffer)
	if err != nil {
		return nil, fmt.Errorf("read ring buffer: %w", err)
	}
	position, err := kernel.MapRingPosition(buffer.FD())
	if err != nil {
		reader.Close()
		return nil, fmt.Errorf("read ring buffer: %w", err)
	}
	return &kernelRing{reader: reader, position: position, omit: omit, count: count}, nil
}

// Nap relies on next having returned a record: the reader then looks into the buffer
// before it waits.
func (r *kernelRing) Nap() { r.position.StepBack() }

func (r *kernelRing) Next(buf []byte) (rec []byte, more bool, err error) {
	r.position.Return()
	r.record.RawSample = buf
	switch err := r.reader.ReadInto(&r.record); {
	case errors.Is(err, ringbuf.ErrFlushed):
		return nil, false, ErrEnd
	case err != nil:
		return nil, false, fmt.Errorf("read event: %w", err)
	}
	return r.omit.Expand(r.record.RawSample), r.record.Remaining > 0, nil
}

// Available relies on any record being longer than the step of nap.
func (r *kernelRing) Available() bool { return r.reader.AvailableBytes() > kernel.RingStep }

func (r *kernelRing) Stop() error {
	if err := r.reader.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("wake up the reader of events: %w", err)
	}
	return nil
}

func (r *kernelRing) Drain() (n uint64) {
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

func (r *kernelRing) Counts() (Counts, error) { return r.count() }
func (r *kernelRing) Rounds() uint64          { return 0 }

// AddFaults adds none: programs count them.
func (r *kernelRing) AddFaults(map[query.Fault]uint64) {}

func (r *kernelRing) Close() error { return cmp.Or(r.reader.Close(), r.position.Close()) }
