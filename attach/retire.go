package attach

import (
	"golang.org/x/sync/errgroup"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// retire detaches from files that no process has any more, and from processes.
// Their sites leave the plan; what they fired remains in the counts.
func (a *Attachment) retire(owners []discover.Owner) error {
	if len(owners) == 0 {
		return nil
	}
	ended := make(map[discover.Owner]bool, len(owners))
	for _, o := range owners {
		ended[o] = true
	}
	a.mu.Lock()
	var kept, gone []link.Link
	for _, l := range a.links {
		if ended[discover.Owner{File: l.File, PID: l.PID}] {
			gone = append(gone, l)
		} else {
			kept = append(kept, l)
		}
	}
	a.links = kept
	plan := make(Plan, 0, len(a.plan))
	for i := range a.plan {
		if !ended[a.plan[i].owner()] {
			plan = append(plan, a.plan[i])
		}
	}
	a.plan = plan
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
	return eg.Wait()
}
