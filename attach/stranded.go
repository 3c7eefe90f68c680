package attach

import (
	"slices"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// A link that is restricted to a process is, for the kernel, one to its first
// thread. When another thread executes a program that one is gone for good, and
// the thread that takes its place and its PID is nothing to the link, which is
// left over: stranded.

// leaveStranded detaches from processes whose links are stranded, so that what
// they have is found anew. Links that many processes share are for all.
func (t *tracing) leaveStranded() error {
	if t.sharing != nil {
		return nil
	}
	var all []discover.Owner
	for pid, d := range t.attached.oldest() {
		stranded := t.kind == link.Multi && d.Stranded() ||
			t.kind == link.Perf && t.procs.LeaderGone(pid) && t.procs.WatchLeader(pid)
		if stranded && !t.procs.Ended(pid) {
			all = append(all, t.attached.ownersOf(pid)...)
			t.discover.Forget(pid)
		}
	}
	if len(all) == 0 {
		return nil
	}
	t.numbers.take(all)
	return t.attached.retire(all)
}

// oldest returns the first of the links to each process: where it is not
// stranded, those made later are not.
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
		if o := a.plan[i].owner(); o.PID == pid && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}
