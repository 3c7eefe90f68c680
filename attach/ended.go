package attach

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/shield"
)

// fileState is what is known of a file that was looked for probes.
type fileState struct {
	id       procfs.ID
	named    bool // by a selector
	matched  bool // has sites
	unlinked bool // has no name, so that it can only be had from who has it
	found    int  // the scan in which it was first mapped by a process
	seen     int  // the last one
}

// stateOf returns what is known of the open file, which a process has mapped by
// that id, and whether it was looked at before. On btrfs and some overlays the
// id in a process's maps is another than that of stat, by which the files that
// selectors name are known: both lead to one state.
func (d *discovery) stateOf(mapped procfs.ID, file *os.File) (state *fileState, known bool) {
	var st unix.Stat_t
	own, unlinked := mapped, false
	if err := unix.Fstat(int(file.Fd()), &st); err == nil {
		own, unlinked = procfs.ID{Dev: st.Dev, Inode: st.Ino}, st.Nlink == 0
	}
	if state, known = d.read[own]; !known {
		state = &fileState{id: mapped, unlinked: unlinked, found: d.scan}
		state, known = d.lowest(file, own.Inode, state)
		d.read[own] = state
	}
	state.seen = d.scan
	d.read[mapped] = state
	return state, known
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
// Files without a name that are attached to are put into d.ended.
func (d *discovery) settle() {
	d.ended = nil
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
		case f.unlinked:
			delete(d.read, id)
			d.ended = append(d.ended, id)
		}
	}
	for inode, f := range d.lower {
		if d.read[f.id] != f {
			delete(d.lower, inode)
		}
	}
}

// retire detaches from the files, which no process has any more. Their sites
// remain in the plan, and what they fired in the counts.
func (a *Attachment) retire(files []procfs.ID) error {
	if len(files) == 0 {
		return nil
	}
	ended := make(map[procfs.ID]bool, len(files))
	for _, id := range files {
		ended[id] = true
	}
	a.mu.Lock()
	var kept, gone []detacher
	for _, d := range a.detachers {
		if ended[d.file] {
			gone = append(gone, d)
		} else {
			kept = append(kept, d)
		}
	}
	a.detachers = kept
	a.mu.Unlock()
	var first error
	for _, d := range gone {
		err := d.stop()
		if d.event >= 0 {
			err = errors.Join(err, shield.Close(d.event))
		}
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}
