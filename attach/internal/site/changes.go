package site

import (
	"context"
	"sort"
)

// Changes calls yield with each site that is attached to or refused, beginning with the ones that
// already are, and again, with left, when it is left. It returns when yield returns false, when ctx
// is done, or once a detaches.
func (a *Attachment) Changes(ctx context.Context, yield func(r Report, left bool) bool) {
	next, there := 0, map[int]Report{}
	for {
		news, left, changed := a.changesSince(next, there)
		for _, s := range news {
			next, there[s.order] = s.order+1, s.Report
			if !yield(s.Report, false) {
				return
			}
		}
		for _, order := range left {
			r := there[order]
			delete(there, order)
			if !yield(r, true) {
				return
			}
		}
		if changed == nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// changesSince returns copies of the sites from number next on, the numbers of sites in there that
// have been left, and what is closed at the next change; nil if there will be none.
func (a *Attachment) changesSince(next int, there map[int]Report) (news []Site, left []int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[int]bool{}
	for i := range a.plan {
		s := &a.plan[i]
		kept[s.order] = true
		if s.order >= next {
			news = append(news, Site{Report: s.Snapshot(), order: s.order})
		}
	}
	for order := range there {
		if !kept[order] {
			left = append(left, order)
		}
	}
	sort.Ints(left)
	if a.detached {
		return news, left, nil
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return news, left, a.changed
}

// hasChanged wakes up whoever waits for a change. a is locked.
func (a *Attachment) hasChanged() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}
