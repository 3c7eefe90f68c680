package site

import (
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// Retire detaches from files that no process has any more, and from processes.
// Their sites leave the plan; their events remain in the counts.
func (a *Attachment) Retire(owners []discover.Owner) error {
	if len(owners) == 0 {
		return nil
	}
	ended := make(map[discover.Owner]bool, len(owners))
	for _, o := range owners {
		ended[o] = true
	}
	a.mu.Lock()
	var gone []link.Link
	a.links, gone = split(a.links, ended)
	plan := make(Plan, 0, len(a.plan))
	for i := range a.plan {
		if !ended[a.plan[i].Owner()] {
			plan = append(plan, a.plan[i])
		}
	}
	a.plan = plan
	counting := a.counts.retire(ended)
	a.mu.Unlock()
	var eg errgroup.Group
	eg.SetLimit(waiters)
	if len(gone) > 0 {
		if _, slow := gone[0].Rest(); slow {
			eg.SetLimit(closers)
		}
	}
	for _, l := range gone {
		eg.Go(l.Close)
	}
	return errors.Join(eg.Wait(), closeLinks(counting))
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
