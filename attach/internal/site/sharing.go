package site

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/go-usdt/usdt/attach/internal/discover"
	"github.com/go-usdt/usdt/attach/internal/operand"
	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// ManyProcesses is up to how many processes each get a link of their own. The
// kernel goes through all links on a location whenever any process reaches it. With
// more processes, one link serves all, and the program looks up the process,
// which costs as much as some of those links.
const ManyProcesses = 8

// sharedLocation is a location in a file that several processes have.
type sharedLocation struct {
	file           procfs.ID
	lower          overlay.Inode // for a file on an overlay
	kind           reader.ProbeKind
	offset         uint64
	semaphore      uint64
	provider, name string
}

// Sharing has the links that serve several processes. A nil Sharing has none.
type Sharing struct {
	inodes overlay.Inodes
	links  map[sharedLocation]*SharedLink
	users  map[procfs.ID]map[discover.Owner]bool // users of the links in a file

	unsettled map[int]sharedLocation // by the site in the plan that was shared last, until Follow
}

// SharedLink is the link of the first site of a location. It does not lead to the site,
// which would keep its plan in memory as long as the link.
type SharedLink struct {
	file     procfs.ID
	carrier  Carrier
	notes    []string
	attached bool
	reason   error
}

// NewSharing returns nil if the processes are few.
func NewSharing(procs *process.Set) *Sharing {
	if len(procs.PIDs) <= ManyProcesses {
		return nil
	}
	return &Sharing{links: map[sharedLocation]*SharedLink{}, users: map[procfs.ID]map[discover.Owner]bool{}}
}

// Share makes the sites of one location in several processes share a link. The first
// site holds the link, for the sites that follow in this plan and in later ones. Share returns
// the sites that follow another one.
func (sh *Sharing) Share(plan Plan, objects operand.Objects) (followers map[int]*SharedLink) {
	if sh == nil {
		return nil
	}
	defer sh.inodes.Close()
	followers = map[int]*SharedLink{}
	for _, loc := range sh.unsettled { // of a plan that nothing has come of
		delete(sh.links, loc)
	}
	sh.unsettled = map[int]sharedLocation{}
	for i := range plan {
		s := &plan[i]
		if s.Reason != nil || s.Local || s.Probe.SemaphoreErr != nil && !s.miscounted() {
			continue // the kernel arms such a semaphore for one process
		}
		loc, ok := sh.locationOf(s, objects[s.Path])
		if !ok {
			continue
		}
		first := sh.links[loc]
		if first != nil && first.carrier != s.Carrier {
			s.Reason = fmt.Errorf("one link serves more than %d processes, and matches starts and ends by their %v, not by their %v: trace fewer processes", ManyProcesses, first.carrier, s.Carrier)
			continue
		}
		if first != nil {
			followers[i] = first
			sh.use(first, s)
			s.Notes = append(s.Notes, first.notes...)
			s.Attached, s.Reason = first.attached, first.reason // of an earlier plan
			continue
		}
		s.Shared = true
		s.Notes = append(s.Notes, fmt.Sprintf("one link serves more than %d processes: other processes that run the file also pay for the probe, and give no events", ManyProcesses))
		first = &SharedLink{file: s.file, carrier: s.Carrier, notes: slices.Clone(s.Notes)}
		sh.links[loc], sh.unsettled[i] = first, loc
		sh.use(first, s)
	}
	return followers
}

// locationOf returns the location that the site shares with sites in other processes.
func (sh *Sharing) locationOf(s *Site, obj *operand.Object) (loc sharedLocation, ok bool) {
	if obj == nil {
		return loc, false
	}
	st, ok := obj.Info.Sys().(*syscall.Stat_t)
	if !ok {
		return loc, false
	}
	p := &s.Probe
	loc = sharedLocation{
		file: procfs.ID{Dev: st.Dev, Inode: st.Ino}, kind: p.Kind, offset: s.Offset, semaphore: p.SemaphoreOffset,
		provider: p.Provider, name: p.Name,
	}
	if overlay.Holds(obj.File) {
		lower, err := sh.inodes.Of(obj.File, st.Ino)
		if err != nil {
			return loc, false
		}
		loc.file, loc.lower = procfs.ID{}, lower
	}
	return loc, true
}

// Follow notes what came of the links of the plan that was shared last, and gives it to
// the sites that follow them.
func (sh *Sharing) Follow(plan Plan, followers map[int]*SharedLink) {
	if sh == nil {
		return
	}
	for i, loc := range sh.unsettled {
		link := sh.links[loc]
		link.notes, link.attached, link.reason = slices.Clone(plan[i].Notes), plan[i].Attached, plan[i].Reason
	}
	sh.unsettled = nil
	for i, first := range followers {
		plan[i].Attached, plan[i].Reason = first.attached, first.reason
	}
}

// Leave notes that files of processes are gone, and returns the owners of the
// links that no process needs any more.
func (sh *Sharing) Leave(left []discover.Owner, procs *process.Set) (unused []discover.Owner) {
	if sh == nil || len(left) == 0 {
		return nil
	}
	for file, users := range sh.users {
		before := len(users)
		for _, o := range left {
			delete(users, o)
		}
		if len(users) == before {
			continue
		}
		for o := range users {
			if procs.Ended(o.PID) {
				delete(users, o)
			}
		}
		if len(users) > 0 {
			continue
		}
		delete(sh.users, file)
		for loc, link := range sh.links {
			if link.file == file {
				delete(sh.links, loc)
			}
		}
		unused = append(unused, discover.Owner{File: file})
	}
	return unused
}

// use notes that a site depends on the link of its place.
func (sh *Sharing) use(first *SharedLink, s *Site) {
	if first.file == (procfs.ID{}) {
		return // the link stays
	}
	users := sh.users[first.file]
	if users == nil {
		users = map[discover.Owner]bool{}
		sh.users[first.file] = users
	}
	users[discover.Owner{File: s.file, PID: s.PID}] = true
}
