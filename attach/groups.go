package attach

import (
	"fmt"
	"time"

	"github.com/go-usdt/usdt/attach/internal/codegen"
	"github.com/go-usdt/usdt/attach/internal/load"
	"github.com/go-usdt/usdt/attach/internal/sums"
)

// takeMaps adds the groups that programs have made, and empties them. Groups that it has taken
// before an error are in all, and the next call takes the rest. a.mu is locked, except while
// programs are waited for.
func (a *totals) takeMaps(all *sums.Sums) error {
	if a.layout.OnlyCounts() {
		return a.takeCount(all)
	}
	for again := true; again; {
		if again = a.behind; !again {
			if err := a.exchange(); err != nil {
				return err
			}
		}
		old := 1 - a.epoch
		if err := a.await(old); err != nil {
			return err
		}
		if err := load.TakeGroups(a.programs.maps.Groups[old], a.layout, all.Add); err != nil {
			return err
		}
		if err := a.takeStacks(a.programs.maps.Stacks[old], all); err != nil {
			return err
		}
		a.behind = false
	}
	return nil
}

// exchange makes programs update the other groups.
func (a *totals) exchange() error {
	if a.layout.KeySize > 0 {
		c, err := a.programs.maps.Count()
		if err != nil {
			return err
		}
		a.made, a.madeStacks = c.At(codegen.CounterGroups), c.At(codegen.CounterStacks)
	}
	if err := a.programs.maps.Control.Put(uint32(0), 1-a.epoch); err != nil {
		return fmt.Errorf("exchange groups: %w", err)
	}
	a.epoch, a.behind = 1-a.epoch, true
	return nil
}

// await waits until no program updates the groups any more that were exchanged. It unlocks
// a.mu meanwhile, since that may take long.
func (a *totals) await(epoch uint64) error {
	maps := *a.programs.maps // which stay open while a.taking is locked
	a.mu.Unlock()
	defer a.mu.Lock()
	for start, pause := time.Now(), 20*time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		busy, err := maps.Busy(epoch)
		if err != nil || !busy {
			return err
		}
		if time.Since(start) > maxLinger {
			return fmt.Errorf("exchange groups: a program has been running for %v", maxLinger)
		}
		time.Sleep(pause)
	}
}

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
	if a.programs.maps.Other == nil {
		return false, nil // no site was found yet
	}
	c, err := a.programs.maps.Count()
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
	a.kept.FoldTo(most)
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
