package attach

import (
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
)

// The kernel binds a link that is restricted to a process to its first thread.
// When another thread executes a program, the first thread is gone for good.
// Another one takes its place and its PID, but the link does not know it: the
// link is stranded.

// leaveStranded detaches from processes whose links are stranded, so that their
// sites are found anew. Links that many processes share are not restricted to
// one.
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
