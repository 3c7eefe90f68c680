package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/event"
	"github.com/go-usdt/usdt/reader"
)

// Aggregate is a set of probes whose events the kernel adds up.
type Aggregate struct{ totals }

// totals are what an Aggregate and a Latency have in common.
type totals struct {
	tracing
	epoch uint64 // the index of maps.groups that programs update
	done  context.Context
}

// Group is the result for all events that have equal values of [Aggregation.By].
type Group struct {
	By    []event.Arg // named as in Aggregation.By
	Count uint64

	// Sum, Avg, Min and Max are what the Aggregation asks for, and nil otherwise.
	// Sum, Min and Max are an int64 of a signed argument, a uint64 of an unsigned
	// one and a float64 of a floating-point number; Avg is a float64. Integers
	// are added modulo 2^64, floating-point numbers in units of 2^-20; numbers
	// beyond 2^43 are lost.
	Sum, Avg, Min, Max any
	Hist               []Bucket // from the first with values to the last

	// Meaning is the argument's. If it is [reader.Duration], the values are
	// time.Durations and Hist counts nanoseconds; if it is [reader.Time], Min and
	// Max are time.Times.
	Meaning reader.Meaning
}

// OpenAggregate attaches as [Open] does, to have the kernel aggregate events
// instead of recording them. Probes that lack an argument, or have it with another
// type than those found first, are left out, as [Site.Reason] says; if none of a
// selector is left, OpenAggregate returns an error.
//
// When ctx is done, OpenAggregate returns its cause; afterwards tracing ends, as
// by Stop. opts may be nil. RingSize and MaxString are refused, because no event
// is recorded.
func OpenAggregate(ctx context.Context, selectors []string, what Aggregation, opts *Options) (*Aggregate, error) {
	o, err := opts.ofTotals(ctx)
	if err != nil {
		return nil, err
	}
	if err := what.check(); err != nil {
		return nil, err
	}
	a := &Aggregate{}
	if err := a.open(ctx, selectors, o, &bind.Layout{Wanted: what.wanted}); err != nil {
		a.release()
		return nil, err
	}
	return a, nil
}

// ofTotals returns the settings of tracing that records no events.
func (o *Options) ofTotals(ctx context.Context) (*settings, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if o != nil {
		recorded := errors.New("it applies to recorded events, and an aggregate records none")
		switch {
		case o.RingSize != 0:
			return nil, &OptionError{"RingSize", recorded}
		case o.MaxString != 0:
			return nil, &OptionError{"MaxString", recorded}
		}
	}
	return o.used()
}

func (a *totals) open(ctx context.Context, selectors []string, o *settings, layout *bind.Layout) (err error) {
	if layout.CPUs == 0 {
		if layout.CPUs, err = ebpf.PossibleCPU(); err != nil {
			return fmt.Errorf("read the number of possible CPUs: %w", err)
		}
	}
	if err := a.attach(ctx, selectors, o, layout, func(*maps) error { return nil }); err != nil {
		return err
	}
	done, cancel := context.WithCancel(context.Background())
	a.done = done
	a.watch(ctx, o, func() error {
		defer cancel()
		return a.Stop()
	})
	return nil
}

// Stop detaches from all sites. What has fired until then can still be read.
func (a *totals) Stop() error { return a.attached.Close() }

// Done is closed when the context of OpenAggregate or OpenLatency is done, or
// all of [Target.PIDs] have ended, and the sites have been left.
func (a *totals) Done() <-chan struct{} { return a.done.Done() }

// Read returns the events since the last call as groups, the largest first. Every
// event is in the result of exactly one call: the programs change over to new
// groups, and Read waits for those that still update the old ones.
func (a *totals) Read() ([]Group, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fmt.Errorf("the aggregate is %w", ErrClosed)
	}
	groups, err := a.takeLocked()
	for i := range groups {
		a.received.Add(groups[i].Count)
	}
	return groups, err
}

// Close detaches and frees everything. Events that have not been read count as
// unread. Close also returns the error that ended tracing early, or that kept it
// from detaching from sites that a rescan found. Calling it again is safe.
func (a *totals) Close() error {
	a.cancel() // of a rescan, too
	err := a.Stop()
	a.endSearch()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return err
	}
	rest, readErr := a.takeLocked()
	for i := range rest {
		a.unread.Add(rest[i].Count)
	}
	if a.stopErr != nil && !errors.Is(err, a.stopErr) {
		err = errors.Join(a.stopErr, err)
	}
	err = errors.Join(err, readErr, a.finishLocked())
	a.release()
	return err
}

// maxLinger is how long a program may take to end, because it waits for a page.
const maxLinger = 30 * time.Second

// takeLocked exchanges the maps and empties the one that was in use.
func (a *totals) takeLocked() ([]Group, error) {
	if !a.layout.Made {
		return nil, nil
	}
	old := a.epoch
	if err := a.maps.Control.Put(uint32(0), 1-old); err != nil {
		return nil, fmt.Errorf("exchange groups: %w", err)
	}
	a.epoch = 1 - old
	for start, pause := time.Now(), 20*time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		busy, err := a.maps.busy(old)
		if err != nil {
			return nil, err
		}
		if !busy {
			break
		}
		if time.Since(start) > maxLinger {
			return nil, fmt.Errorf("exchange groups: a program has been running for %v", maxLinger)
		}
		time.Sleep(pause)
	}
	return a.readGroups(a.maps.Groups[old])
}
