package site

import (
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/process"
)

// The kernel binds a link that is restricted to a process to its first thread.
// When another thread executes a program, the first thread is gone for good.
// Another one takes its place and its PID, but the link does not know it: the
// link is stranded.

// Stranded returns the owners, to be retired, of sites in processes whose links are
// stranded, and has the search find these sites anew. kind is that of the links.
// Links that many processes share are not restricted to one.
func (a *Attachment) Stranded(kind link.Kind, procs *process.Set, search *discover.Search) (owners []discover.Owner) {
	for pid, l := range a.oldest() {
		stranded := !kind.Led() && l.Stranded() || kind.Led() && procs.LeaderGone(pid) && procs.WatchLeader(pid)
		if stranded && !procs.Ended(pid) {
			owners = append(owners, a.ownersOf(pid)...)
			search.Forget(pid)
		}
	}
	return owners
}
