package site

import (
	"errors"
	"maps"
	"slices"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/internal/procfs"
)

// Leave detaches from files that no process has any more, and from processes. Their sites leave
// the plan; their events remain in the counts. Links are closed beside the caller, since the
// kernel takes a grace period for that. then is called afterwards, with what went wrong.
func (a *Attachment) Leave(owners []discover.Owner, then func(error)) {
	if len(owners) == 0 {
		return
	}
	done := make(chan struct{})
	ended := make(map[discover.Owner]bool, len(owners))
	for _, o := range owners {
		ended[o] = true
	}
	a.mu.Lock()
	links, counting := a.split(ended)
	for o := range ended {
		if a.leaving == nil {
			a.leaving = map[discover.Owner]chan struct{}{}
		}
		a.leaving[o] = done
	}
	a.mu.Unlock()
	go func() {
		err := closeAll(links, counting)
		a.mu.Lock()
		for o := range ended {
			if a.leaving[o] == done {
				delete(a.leaving, o)
			}
		}
		a.mu.Unlock()
		close(done)
		then(err)
	}()
}

// Left waits until the sites of the plan's owners that were left have no links: else events of
// new links would count twice. A site that waits for its file, and so has none, may be one of any
// file of its process.
func (a *Attachment) Left(plan Plan) {
	var left []chan struct{}
	none := procfs.ID{}
	wait := func(done chan struct{}) {
		if done != nil && !slices.Contains(left, done) {
			left = append(left, done)
		}
	}
	a.mu.Lock()
	for i := 0; len(a.leaving) > 0 && i < len(plan); i++ {
		o := plan[i].Owner()
		switch wait(a.leaving[o]); {
		case o.PID == 0:
		case o.File != none:
			wait(a.leaving[discover.Owner{PID: o.PID}])
		default:
			for owner, done := range a.leaving {
				if owner.PID == o.PID {
					wait(done)
				}
			}
		}
	}
	a.mu.Unlock()
	for _, done := range left {
		<-done
	}
}

// AllLeft waits until what was left has no links.
func (a *Attachment) AllLeft() {
	a.mu.Lock()
	left := slices.Collect(maps.Values(a.leaving))
	a.mu.Unlock()
	for _, done := range left {
		<-done
	}
}

// split takes the links of owners, and their sites. a.mu is locked.
func (a *Attachment) split(ended map[discover.Owner]bool) (gone, counting []link.Link) {
	a.links, gone = split(a.links, ended)
	plan := make(Plan, 0, len(a.plan))
	for i := range a.plan {
		if !ended[a.plan[i].Owner()] {
			plan = append(plan, a.plan[i])
		}
	}
	a.plan = plan
	a.hasChanged()
	return gone, a.counts.retire(ended)
}

// closeAll closes links, and then the links that count their semaphores.
func closeAll(gone, counting []link.Link) error {
	var errs []error
	for i := range gone {
		errs = append(errs, gone[i].Unpin())
	}
	return errors.Join(append(errs, closeLinks(gone), closeLinks(counting))...)
}

// split returns the links that stay, and the links of the owners.
func split(links []link.Link, ended map[discover.Owner]bool) (kept, gone []link.Link) {
	for _, l := range links {
		if ended[discover.Owner{File: l.File, PID: l.PID}] {
			gone = append(gone, l)
		} else {
			kept = append(kept, l)
		}
	}
	return kept, gone
}

// oldest returns the first of the links to each process: if it is not stranded,
// later ones are not, either.
func (a *Attachment) oldest() map[int]link.Link {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := map[int]link.Link{}
	for _, l := range a.links {
		if l.PID == 0 {
			continue
		}
		if _, ok := first[l.PID]; !ok {
			first[l.PID] = l
		}
	}
	return first
}

// ownersOf returns the owners of the sites of a process.
func (a *Attachment) ownersOf(pid int) (all []discover.Owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.plan {
		if o := a.plan[i].Owner(); o.PID == pid && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}
