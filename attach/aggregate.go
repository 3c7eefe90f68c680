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
	"github.com/go-usdt/usdt/attach/internal/query"
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

	totalled bool       // whether Total was called
	total    *sums.Sums // what it returns; nil before the first group
	ahead    *sums.Sums // groups that Total has returned, and Read has not

	naming sync.Mutex // of groups before they are read, total and ahead; locked before taking
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
// by Stop. opts may be nil. Stack is refused unless groups are by stack.
func OpenAggregate(ctx context.Context, selectors []string, what Aggregation, opts *Options) (*Aggregate, error) {
	o, err := opts.ofTotals(ctx, what.wanted.By, what.interval, what.ringSize)
	if err != nil {
		return nil, err
	}
	return openAggregate(ctx, selectors, what, o)
}

func openAggregate(ctx context.Context, selectors []string, what Aggregation, o *settings) (*Aggregate, error) {
	if _, err := what.check(); err != nil {
		return nil, err
	}
	return openBy(o, func(a *Aggregate, o *settings) error {
		return a.open(ctx, selectors, o, &bind.Layout{Layout: query.Layout{Wanted: what.wanted}})
	})
}

// ofTotals returns the settings of tracing that records no events, and groups them by keys, and by
// intervals of recordings.
func (o *Options) ofTotals(ctx context.Context, by []string, interval time.Duration, ringSize int) (*settings, error) {
	if err := usable(ctx); err != nil {
		return nil, err
	}
	if o != nil && o.Stack != 0 && !slices.Contains(by, query.Stack) {
		return nil, &OptionError{"Stack", errors.New("it applies to recorded events, and to groups by stack")}
	}
	out, err := o.used(&EventOptions{RingSize: ringSize})
	if err != nil {
		return nil, err
	}
	switch out.interval = interval; {
	case interval < 0:
		return nil, &OptionError{"Interval", fmt.Errorf("%v is negative", interval)}
	case interval > 0 && len(out.Target.Recordings) == 0:
		return nil, &OptionError{"Interval", errors.New("it is for recordings: read live aggregates at intervals")}
	}
	return out, nil
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
	// Only programs add up by CPU, and they are not loaded if nothing says how many there are.
	if layout.CPUs == 0 {
		if layout.CPUs, err = ebpf.PossibleCPU(); err != nil {
			layout.CPUs = 1
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
	if err := a.attach(ctx, selectors, o, layout); err != nil {
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
	case a.programs == nil || o.recorded || len(layout.Wanted.By) == 0:
	case a.code != nil:
		a.code.Aside(a.drain)
	default:
		a.watches.Go(a.drain)
	}
	if a.programs != nil && !o.recorded && layout.Wanted.ByStack() {
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
	all, past, err := a.collect()
	if all == nil {
		return past, err
	}
	if a.ahead != nil && a.ahead.Size() > 0 {
		a.ahead.Join(all)
		all = a.ahead
	}
	a.ahead = nil
	return all.Groups(a.sites.Load().Probes), nil
}

// Total returns all events as groups, as exporters of counters want them: also the events that Read
// has returned, or has yet to return. They are kept from the first call on: call Total once before
// anything is read. When there are more than MaxGroups groups, the least used ones go to
// [total.Group.Other], and come anew if they fire again. Recordings have no total: read them without
// an interval.
func (a *totals) Total() ([]total.Group, error) {
	a.naming.Lock()
	defer a.naming.Unlock()
	if a.options.Target.Via == ViaRecording {
		return nil, errors.New("a recording has no total: use Read")
	}
	a.totalled = true
	all, _, err := a.collect()
	if err != nil {
		return nil, err
	}
	if a.ahead == nil || a.ahead.Size() == 0 {
		a.ahead = all
	} else {
		a.ahead.Join(all)
	}
	a.ahead.FoldTo(2 * a.ahead.Layout.Room())
	if a.total == nil {
		return nil, nil
	}
	return a.total.Groups(a.sites.Load().Probes), nil
}

// collect takes all groups with the names of their stacks, and adds them to the total. a.naming is locked.
func (a *totals) collect() (all *sums.Sums, past []total.Group, err error) {
	if err := a.live.Refresh(); err != nil {
		return nil, nil, err
	}
	all, past, err = a.take()
	if all == nil {
		return nil, past, err
	}
	defer a.code.Late()
	a.unite(all, nil) // which may open files, so that Close need not wait
	if a.totalled && all.Size() > 0 {
		if a.total == nil { // not before a site is found, which says what groups have
			a.total = sums.New(all.Layout, map[string][]uint64{})
		}
		a.total.Join(all)
		a.total.FoldTo(2 * all.Layout.Room())
	}
	return all, nil, nil
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
	if a.unfit != nil {
		return nil, nil, a.unfit
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
		a.unread.Add(st.rest())
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
	if err == nil && a.programs != nil && a.programs.maps.Control != nil {
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
	c, err := a.programs.maps.Count()
	if err != nil {
		return err
	}
	counted := c.At(codegen.CounterEntered)
	all.Of("")[query.WordCount] += counted - a.counted
	a.counted = counted
	return nil
}
