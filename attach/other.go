package attach

import (
	"time"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/sums"
)

// How often it is looked whether groups fill their map.
const (
	drainSoon = 10 * time.Millisecond // as long as they do
	drainLate = 100 * time.Millisecond
)

// drain takes groups out of the kernel's map while they fill it, so that new ones find
// room, until tracing has ended.
func (a *totals) drain() {
	for pause := drainLate; ; {
		select {
		case <-time.After(pause):
		case <-a.done.Done():
			return
		}
		drained, err := a.drainFull()
		if err != nil {
			a.fail(err)
			return
		}
		if pause = min(2*pause, drainLate); drained {
			pause = drainSoon
		}
	}
}

// drainFull takes the groups if they fill half of the map, and reports whether they did.
// It keeps the most used ones apart until they are read.
func (a *totals) drainFull() (bool, error) {
	a.naming.Lock()
	defer a.naming.Unlock()
	pids, drained, err := a.keep(a.isFull)
	for pid := range pids {
		if a.code.Closed() {
			break
		}
		a.code.Process(pid) // while it may live
	}
	if drained {
		a.foldKept()
	}
	return drained, err
}

// isFull reports whether groups fill half of the map. a.mu is locked.
func (a *totals) isFull() (bool, error) {
	if a.maps.Other == nil {
		return false, nil // no site was found yet
	}
	c, err := a.maps.Count()
	return err == nil && (c.At(codegen.CounterGroups)-a.made >= uint64(a.layout.Room()+1)/2 || c.At(codegen.CounterStacks)-a.madeStacks >= load.MaxStacks(a.layout)/2), err
}

// foldKept adds up the least used of the groups that are kept apart in one, if they are too many.
// Those by stack are united first: of many processes that each ran the same program for a moment,
// no group is much used.
func (a *totals) foldKept() {
	a.mu.Lock()
	defer a.mu.Unlock()
	most := 2 * a.layout.Room()
	if a.closed || a.kept.Size() <= most {
		return
	}
	part := a.layout.StackPart()
	if part != nil {
		kept := a.kept
		a.kept, a.aside = nil, events(kept, nil)
		a.mu.Unlock()
		a.unite(kept, a.code.Closed) // which opens files
		a.mu.Lock()
		if a.closed {
			return // they count as unread
		}
		a.kept, a.aside = kept, 0
	}
	if a.kept.Size() > most {
		a.kept.Fold(a.layout.Room())
		a.kept.KeepStacks(part)
	}
}

// keep keeps the groups apart until they are read, if it is time, and reports whether it did. It
// returns the processes whose stacks they have.
func (a *totals) keep(isTime func() (bool, error)) (pids map[int]bool, kept bool, err error) {
	if !a.taking.TryLock() {
		return nil, false, nil // Read takes them, or Close
	}
	defer a.taking.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, false, nil
	}
	if yes, err := isTime(); !yes {
		return nil, false, err
	}
	taken := sums.New(a.layout, map[string][]uint64{})
	err = a.takeMaps(taken)
	taken.Layout = a.layout // which keys of sites that were found later need
	pids = taken.PIDs()
	if a.kept == nil {
		a.kept = taken
	} else {
		a.kept.Join(taken)
	}
	return pids, err == nil, err
}
