package attach

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/internal/procfs"
)

// fileState is what is known of a file that was looked for probes.
type fileState struct {
	id procfs.ID
	// shared says that maps give other files this one's id, too: see place.
	shared   bool
	named    bool // by a selector
	matched  bool // has sites
	changed  unix.Timespec
	unlinked bool      // has no name, so that it can only be had from who has it
	path     string    // its name here, if it has one
	own      procfs.ID // by stat
	found    int       // the scan in which it was first mapped by a process
	seen     int       // the last one
}

// place is where a process has a file mapped: its id in maps, and the path in
// the file systems that the process sees. On btrfs, maps give the device of the
// whole file system, whose subvolumes number their files each by itself, and
// only the place tells those apart that have one id.
type place struct {
	mapped procfs.ID
	path   string
	mounts procfs.ID // of the mount namespace
}

// placed is the file in a place, and the scan in which that was last looked up.
type placed struct {
	state *fileState
	seen  int
}

func placeOf(o *procfs.Object, pid int) place {
	p := place{mapped: o.ID, path: o.Path}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &st); err == nil {
		p.mounts = procfs.ID{Dev: st.Dev, Inode: st.Ino}
	}
	return p
}

// known returns the state of a file that process pid has mapped, nil if it has
// not been looked at.
func (d *discovery) known(o *procfs.Object, pid int) *fileState {
	f := d.read[o.ID]
	if f == nil || !f.shared {
		return f
	}
	at := placeOf(o, pid)
	found, ok := d.places[at]
	if ok {
		d.places[at] = placed{found.state, d.scan}
	}
	return found.state
}

// stateOf returns what is known of the open file, which process pid has mapped,
// and whether it was looked at before. On btrfs and some overlays the id in
// maps is another than that of stat, by which the files that selectors name are
// known: both lead to one state. Of an overlay it is that of the file below.
func (d *discovery) stateOf(o *procfs.Object, pid int, file *os.File) (state *fileState, known bool) {
	var st unix.Stat_t
	own, unlinked := o.ID, false
	if err := unix.Fstat(int(file.Fd()), &st); err == nil {
		own, unlinked = procfs.ID{Dev: st.Dev, Inode: st.Ino}, st.Nlink == 0
	}
	shared := own != o.ID && !overlay.Holds(file)
	if state, known = d.read[own]; !known {
		state = &fileState{id: o.ID, own: own, unlinked: unlinked, found: d.scan, changed: st.Ctim}
		if shared {
			state.id = own
		}
		state, known = d.lowest(file, own.Inode, state)
		d.read[own] = state
	}
	state.seen = d.scan
	d.read[o.ID] = state
	if shared {
		state.shared = true
		d.places[placeOf(o, pid)] = placed{state, d.scan}
	}
	return state, known
}

// lowest returns the state of the file that has been found in another overlay
// of the same layers and has sites: whatever is attached there fires in this one,
// too. Without such a file, or if the kernel does not tell, it is state.
func (d *discovery) lowest(file *os.File, number uint64, state *fileState) (*fileState, bool) {
	if !overlay.Holds(file) {
		return state, false
	}
	key, err := d.inodes.Of(file, number)
	if err != nil {
		return state, false
	}
	if other := d.lower[key]; other != nil && other.matched {
		return other, true
	}
	d.lower[key] = state
	return state, false
}

// hiddenSince says in which scans a process was met that may not be looked at.
type hiddenSince struct{ first, last int }

// hide notes that process pid may not be looked at.
func (d *discovery) hide(pid int) {
	if d.hidden == nil {
		d.hidden = map[int]hiddenSince{}
	}
	since := d.hidden[pid]
	if since.first == 0 {
		since.first = d.scan
	}
	since.last = d.scan
	d.hidden[pid] = since
}

// endedScans are the scans, one after the other, that do not find a file mapped
// before it counts as gone: a process that has it may start another one and
// end itself while /proc is being read.
const endedScans = 2

// settle forgets the files that no process has mapped any more, as far as
// nothing is attached to them: their inode numbers may be given to others.
// Of those that are attached to, files without a name are put into d.ended.
func (d *discovery) settle() {
	newest := 0
	for pid, since := range d.hidden {
		if since.last != d.scan {
			delete(d.hidden, pid)
			continue
		}
		newest = max(newest, since.first)
	}
	for id, f := range d.read {
		switch {
		case f.named || d.scan-f.seen < endedScans:
		case f.found < newest:
			// A process that may not be looked at, and did not run yet when
			// another had the file, may have it from that one.
		case !f.matched:
			delete(d.read, id)
		case f.unlinked || f.removed():
			f.unlinked = true
			delete(d.read, id)
			d.ended = append(d.ended, owner{file: id})
		}
	}
	forgotten := func(f *fileState) bool { return d.read[f.id] != f }
	for inode, f := range d.lower {
		if forgotten(f) {
			delete(d.lower, inode)
		}
	}
	for at, found := range d.places {
		if found.seen != d.scan || forgotten(found.state) {
			delete(d.places, at)
		}
	}
}

// removed reports whether the name by which the file was found leads to it no
// more: what is built, run and deleted would cost a link each, and its space on
// the disk, until the end. Should it have another name, it is found again when
// a process has it mapped.
func (f *fileState) removed() bool {
	if f.path == "" {
		return false
	}
	var st unix.Stat_t
	err := unix.Stat(f.path, &st)
	return errors.Is(err, os.ErrNotExist) || err == nil && f.own != procfs.ID{Dev: st.Dev, Inode: st.Ino}
}

// retire detaches from files that no process has any more, and from processes.
// Their sites leave the plan; what they fired remains in the counts.
func (a *Attachment) retire(owners []owner) error {
	if len(owners) == 0 {
		return nil
	}
	ended := make(map[owner]bool, len(owners))
	for _, o := range owners {
		ended[o] = true
	}
	a.mu.Lock()
	var kept, gone []link.Link
	for _, l := range a.links {
		if ended[owner{l.File, l.PID}] {
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
