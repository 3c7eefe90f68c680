package local

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"github.com/go-usdt/usdt/attach/internal/bind"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/attach/internal/source"
	"github.com/go-usdt/usdt/internal/rendezvous"
)

// Watch makes processes record at the local sites of a plan.
func (l *Processes) Watch(ctx context.Context, plan site.Plan, schemas []*bind.Schema, numbers []int) {
	l.begins = new(atomic.Uint64)
	select {
	case <-l.options.Opened:
	default: // Open waits for this
		defer context.AfterFunc(ctx, l.HangUp)()
	}
	of := map[int][]int{} // the sites of each process, by their places in plan
	for i := range plan {
		if s := &plan[i]; s.Local && schemas[i] != nil {
			of[s.Process()] = append(of[s.Process()], i)
		}
	}
	for pid, places := range of {
		err := l.watchProcess(pid, places, plan, schemas, numbers)
		if errors.Is(err, os.ErrProcessDone) {
			// The session has ended; the process may have begun another life.
			if err = l.begin(ctx, pid); err == nil {
				err = l.watchProcess(pid, places, plan, schemas, numbers)
			}
		}
		for _, i := range places {
			if err != nil && plan[i].Reason == nil {
				plan[i].Reason = err
			}
		}
	}
}

// Begun says that processes record at all sites that were watched last.
func (l *Processes) Begun() {
	if l.begins != nil {
		l.begins.CompareAndSwap(0, l.Now())
	}
}

// watchProcess does so for the sites of one process, by their places in plan. The error
// is that of all sites without a reason.
func (l *Processes) watchProcess(pid int, places []int, plan site.Plan, schemas []*bind.Schema, numbers []int) error {
	process := l.Of(pid)
	if process == nil {
		return fmt.Errorf("process %d has ended the session: %w", pid, os.ErrProcessDone)
	}
	known := slices.Clone(*process.Sites.Load())
	sites := make([]rendezvous.Site, 0, len(places))
	wanted := places[:0:0]
	for _, i := range places {
		p, sc := &plan[i].Probe, schemas[i]
		object, err := hex.DecodeString(p.BuildID)
		if err != nil || len(object) != 16 {
			plan[i].Reason = errNotShared
			continue
		}
		s := rendezvous.Site{
			Object: [16]byte(object), Location: p.Location, Number: uint32(len(known)),
			Layout: &sc.Computed.Layout, Slots: slotsOf(sc),
		}
		whole := sc.Computed.Condition == nil
		if !whole && !l.options.Pairs {
			s.Where, whole = termsOf(sc.Computed)
		}
		if o := plan[i].Owner(); !slices.Contains(process.Owners, o) {
			process.Owners = append(process.Owners, o)
		}
		if l.options.Sample > 1 && whole {
			s.Sample = uint32(l.options.Sample)
		}
		known = append(known, source.Site{Number: uint32(numbers[i]), Schema: sc, Tested: whole, Sampled: new(uint64), Begun: l.begins})
		sites, wanted = append(sites, s), append(wanted, i)
	}
	process.Sites.Store(&known) // records may come at once
	if len(sites) == 0 {
		return nil
	}
	refused, err := process.Watch(sites)
	if err != nil {
		return err
	}
	for j, i := range wanted {
		if refused[j] == rendezvous.NotThere {
			plan[i].Reason = errNotShared
		} else {
			plan[i].Attached, plan[i].Reason = refused[j] == nil, refused[j]
		}
		if there := plan[i].Attached; there || refused[j] == rendezvous.NotThere {
			process.Asked(sites[j], plan[i].Owner(), there)
		}
	}
	return nil
}

// slotsOf returns what the slots of a site's records are.
func slotsOf(sc *bind.Schema) []rendezvous.Slot {
	slots := make([]rendezvous.Slot, sc.Computed.Slots)
	if sc.IPv4 {
		slots[0] = rendezvous.IPv4
	}
	if sc.Carrier >= 0 {
		slots[sc.Carrier] = rendezvous.Goroutine
	}
	return slots
}
