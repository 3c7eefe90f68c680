package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/query"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/attach/internal/sums"
	"github.com/go-usdt/usdt/total"
)

// Aggregate is a set of probes whose events are added up: by the kernel or, where they
// come by another [Via], by this process.
type Aggregate struct{ totals }

// totals are what an Aggregate and a Latency have in common.
type totals struct {
	tracing
	epoch uint64 // the index of maps.groups that programs update
	done  context.Context
	// counted is what programs had counted when it was read last, if they only count.
	counted uint64
	adding  adding // of records

	made uint64 // groups that were new when the maps were exchanged last
	// stacks that were new then
	madeStacks uint64
	kept       *sums.Sums // groups that were taken out of the maps before they are read; nil for none
	aside      uint64     // events of such groups whose stacks are being named

	naming sync.Mutex // of groups before they are read; locked before taking
	taking sync.Mutex // of groups, which may wait for programs; locked before mu
	behind bool       // the groups that programs no longer update have yet to be read
}

// OpenAggregate attaches as [Open] does, to add events up instead of delivering each
// one. Probes that lack an argument, or have it with another type than the probes found first,
// are left out, as [Site.Reason] says; if a selector has no probe left, OpenAggregate returns
// an error. Integers are of one type, whatever their sizes and signs. If only some sites of a
// probe do not fit, such as one that passes text or no argument, their events count as lost,
// as filtered or in a group without that key, and [Site.Uncomputed] says why.
//
// When ctx is done, OpenAggregate returns its cause; afterwards tracing ends, as
// by Stop. opts may be nil. RingSize, MaxString, Sample and Omit are refused, because no event
// is delivered, and Stack unless groups are by stack.
func OpenAggregate(ctx context.Context, selectors []string, what Aggregation, opts *Options) (*Aggregate, error) {
	o, err := opts.ofTotals(ctx, what.wanted.By)
	if err != nil {
		return nil, err
	}
	return openAggregate(ctx, selectors, what, o)
}

func openAggregate(ctx context.Context, selectors []string, what Aggregation, o *settings) (*Aggregate, error) {
	if err := what.check(); err != nil {
		return nil, err
	}
	var a *Aggregate
	err := o.each(func(o *settings) error {
		a = &Aggregate{}
		err := a.open(ctx, selectors, o, &bind.Layout{Layout: query.Layout{Wanted: what.wanted}})
		if err != nil {
			a.release()
			a.code.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ofTotals returns the settings of tracing that records no events, and groups them by keys.
func (o *Options) ofTotals(ctx context.Context, by []string) (*settings, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if o != nil {
		recorded := errors.New("it applies to recorded events, and an aggregate records none")
		switch {
		case o.RingSize != 0:
			return nil, &OptionError{"RingSize", recorded}
		case o.Sample > 1:
			return nil, &OptionError{"Sample", recorded}
		case o.MaxString != 0:
			return nil, &OptionError{"MaxString", recorded}
		case o.Omit != 0:
			return nil, &OptionError{"Omit", recorded}
		case o.Stack != 0 && !slices.Contains(by, query.Stack):
			return nil, &OptionError{"Stack", errors.New("it applies to recorded events, and to groups by stack")}
		}
	}
	return o.used()
}

// foldedString is how much of a text is kept for a function that folds it.
const foldedString = 4 << 10

// ofKeys returns the settings for keys that may have functions. A function that makes one
// text of many is computed here, of records: groups of the texts themselves would be too
// many for the kernel's map.
func (o *settings) ofKeys(l *bind.Layout) *settings {
	c, keys, pairs := &l.Wanted, l.Wanted.By, l.Pairs != nil
	if pairs {
		keys = slices.Concat(keys, l.Pairs.Key)
	}
	args := bind.KeyStrings(keys)
	stacks := c.ByStack()
	if len(args) == 0 && !c.Folds() && !stacks {
		return o
	}
	out := *o
	if stacks && o.Stack == 0 {
		out.Stack = MaxStack
	}
	if stacks && o.Unwind {
		out.recorded, out.tests = out.recorded || o.Target.Via.attaches(), !pairs
	}
	out.strings = slices.Concat(o.strings, args)
	if c.Folds() {
		out.recorded, out.tests = out.recorded || o.Target.Via.attaches(), !pairs
		out.MaxString = max(out.MaxString, foldedString)
	}
	return &out
}

func (a *totals) open(ctx context.Context, selectors []string, o *settings, layout *bind.Layout) (err error) {
	// Only programs add up by CPU. Containers may lack /sys, which says how many there
	// are. Mostly they also lack the privileges for programs, which is then the error.
	var unknown error
	if layout.CPUs == 0 {
		if layout.CPUs, err = ebpf.PossibleCPU(); err != nil {
			layout.CPUs, unknown = 1, fmt.Errorf("read the number of possible CPUs: %w", err)
		}
	}
	o = o.ofKeys(layout)
	if layout.Wanted.ByStack() {
		layout.Stack = o.Stack + bind.OwnFrames
	}
	if o.recorded || o.Target.Via.isLocal() {
		a.tally = newTally(layout)
		a.tally.Unwind = a.unwind
	}
	err = a.attach(ctx, selectors, o, layout, func(m *load.Maps) error {
		if m != nil && unknown != nil {
			return unknown
		}
		var kernel source.Source
		switch {
		case o.recorded:
			if kernel, err = source.NewBuffer(m.Ring, o.Omit.fields(), a.countPrograms); err != nil {
				return err
			}
		case m != nil && len(a.sides) > 0:
			kernel = source.NewCounted(a.countPrograms)
		}
		a.source = a.with(kernel)
		return nil
	})
	if err != nil {
		return err
	}
	done, cancel := context.WithCancel(context.Background())
	a.done = done
	a.watch(ctx, o, func() error {
		defer cancel()
		return a.Stop()
	})
	if a.source != nil {
		a.watches.Go(a.addUp)
	}
	// The maps may yet have to be made, when the first site is found.
	switch {
	case a.maps == nil || o.recorded || len(layout.Wanted.By) == 0:
	case a.code != nil:
		a.code.Aside(a.drain)
	default:
		a.watches.Go(a.drain)
	}
	if a.maps != nil && !o.recorded && layout.Wanted.ByStack() {
		a.code.Aside(a.meet)
	}
	return nil
}

// Stop detaches from all sites. Events that fired before can still be read.
func (a *totals) Stop() error {
	err := a.attached.Close()
	if a.source != nil {
		err = cmp.Or(err, a.source.Stop())
	}
	return err
}

// Done is closed when the context of OpenAggregate or OpenLatency is done, or
// all of [Target.PIDs] have ended, and the sites have been left.
func (a *totals) Done() <-chan struct{} { return a.done.Done() }

// Read returns the events since the last call as groups, the largest first. Every
// event is in the result of exactly one call: the programs change over to new
// groups, and Read waits for programs that still update the old ones. After an error
// the next call also returns the events that this one could not.
func (a *totals) Read() ([]total.Group, error) {
	a.naming.Lock()
	defer a.naming.Unlock()
	all, past, err := a.take()
	if all != nil {
		defer a.code.Late()
		return a.groupsOf(all), err // which may open files, so that Close need not wait
	}
	return past, err
}

// take takes all groups, which count as received: sums or, of recordings, groups by interval.
func (a *totals) take() (all *sums.Sums, past []total.Group, err error) {
	a.taking.Lock()
	defer a.taking.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, fmt.Errorf("the aggregate is %w", ErrClosed)
	}
	all, past, err = a.takeLocked()
	a.received.Add(events(all, past))
	return all, past, err
}

// events returns how many events groups have.
func events(all *sums.Sums, past []total.Group) (n uint64) {
	for i := range past {
		n += past[i].Count
	}
	if all != nil {
		n += all.Events()
	}
	return n
}

// Close detaches and frees everything. Events that have not been read count as
// unread. Close also returns the error that ended tracing early, or that kept it
// from detaching from sites that a rescan found. Calling it again is safe.
func (a *totals) Close() error {
	a.cancel() // also of a rescan
	err := a.Stop()
	a.endSearch()
	err = a.finish(err)
	a.code.Close()
	return err
}

// finish is Close with a.mu locked. err is the error until now.
func (a *totals) finish(err error) error {
	a.taking.Lock()
	defer a.taking.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return err
	}
	rest, past, readErr := a.takeLocked()
	if readErr == nil {
		a.unread.Add(events(rest, past) + a.aside)
	} else if st, err := a.countLocked(); err == nil { // they are what is missing
		a.unread.Add(st.Fired - min(st.Fired, st.Received+st.Lost+st.Filtered+st.Missed+st.Unread))
	}
	if failed := a.failure.get(); failed != nil && !errors.Is(err, failed) {
		err = errors.Join(failed, err)
	}
	err = errors.Join(err, readErr, a.finishLocked())
	a.release()
	return err
}

func (a *totals) release() {
	a.closeSource()
	a.tracing.release()
}

// maxLinger is how long a program may take to end, because it waits for a page.
const maxLinger = 30 * time.Second

// takeLocked takes all groups, and begins anew: sums or, of recordings, groups by interval.
// After an error it has kept what it took. a.taking and a.mu are locked.
func (a *totals) takeLocked() (all *sums.Sums, past []total.Group, err error) {
	if a.options.Target.Via == ViaRecording {
		past, err = a.takeIntervals()
		return nil, past, err
	}
	all = a.kept
	if a.kept = nil; all == nil {
		all = sums.New(a.layout, map[string][]uint64{})
	}
	if a.source != nil {
		err = a.takeTally(all)
	}
	if err == nil && a.maps != nil && a.maps.Control != nil {
		err = a.takeMaps(all)
	}
	all.Layout = a.layout // which has the sites that were found meanwhile
	if err != nil {
		a.kept = all
		return nil, nil, err
	}
	return all, nil, nil
}

// takeCount adds the events that programs have counted since the last call.
func (a *totals) takeCount(all *sums.Sums) error {
	c, err := a.maps.Count()
	if err != nil {
		return err
	}
	counted := c.At(codegen.CounterEntered)
	all.Of("")[query.WordCount] += counted - a.counted
	a.counted = counted
	return nil
}
