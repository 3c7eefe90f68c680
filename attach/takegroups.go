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
		if err := load.TakeGroups(a.maps.Groups[old], a.layout, all.Add); err != nil {
			return err
		}
		if err := a.takeStacks(a.maps.Stacks[old], all); err != nil {
			return err
		}
		a.behind = false
	}
	return nil
}

// exchange makes programs update the other groups.
func (a *totals) exchange() error {
	if a.layout.KeySize > 0 {
		c, err := a.maps.Count()
		if err != nil {
			return err
		}
		a.made, a.madeStacks = c.At(codegen.CounterGroups), c.At(codegen.CounterStacks)
	}
	if err := a.maps.Control.Put(uint32(0), 1-a.epoch); err != nil {
		return fmt.Errorf("exchange groups: %w", err)
	}
	a.epoch, a.behind = 1-a.epoch, true
	return nil
}

// await waits until no program updates the groups any more that were exchanged. It unlocks
// a.mu meanwhile, since that may take long.
func (a *totals) await(epoch uint64) error {
	maps := *a.maps // which stay open while a.taking is locked
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
