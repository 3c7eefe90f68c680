package attach

import (
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
	for pid, d := range t.attached.Oldest() {
		stranded := t.kind == link.Multi && d.Stranded() ||
			t.kind == link.Perf && t.procs.LeaderGone(pid) && t.procs.WatchLeader(pid)
		if stranded && !t.procs.Ended(pid) {
			all = append(all, t.attached.OwnersOf(pid)...)
			t.discover.Forget(pid)
		}
	}
	if len(all) == 0 {
		return nil
	}
	t.numbers.take(all)
	return t.attached.Retire(all)
}
