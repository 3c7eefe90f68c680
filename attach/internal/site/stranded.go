package site

import (
	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
)

// The kernel binds a link that is restricted to a process to its first thread.
// When another thread executes a program, the first thread is gone for good.
// Another one takes its place and its PID, but the link does not know it: the
// link is stranded. It does know a program that translates code (valgrind, QEMU), and would
// put breakpoints into the files that this reads.

// Stranded returns the owners, to be retired, of sites in processes whose links are
// stranded, and has the search find these sites anew. kind is that of the links.
// Links that many processes share are not restricted to one.
func (a *Attachment) Stranded(kind link.Kind, procs *process.Set, search *discover.Search) (owners []discover.Owner) {
	for _, pid := range a.executed() {
		search.Forget(pid)
	}
	for pid, l := range a.oldest() {
		stranded := !kind.Led() && l.Stranded() || kind.Led() && procs.LeaderGone(pid) && procs.WatchLeader(pid)
		if (stranded || a.translates(pid)) && !procs.Ended(pid) {
			owners = append(owners, a.ownersOf(pid)...)
			search.Forget(pid)
		}
	}
	return owners
}

// translates reports that a process translates code since it has executed a program, so that its
// sites must be planned anew.
func (a *Attachment) translates(pid int) bool {
	if procfs.Translator(pid) == "" {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.translating[pid] {
		return false // who forces a site has it
	}
	if a.translating == nil {
		a.translating = map[int]bool{}
	}
	a.translating[pid] = true
	return true
}

// executed returns the processes that translate code no longer: they have executed another program.
func (a *Attachment) executed() (pids []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for pid := range a.translating {
		if procfs.Translator(pid) == "" {
			delete(a.translating, pid)
			pids = append(pids, pid)
		}
	}
	return pids
}
