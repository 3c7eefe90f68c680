package discover

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/internal/procfs"
)

// fileState is what is known of a file that was looked for probes.
type fileState struct {
	id procfs.ID
	// shared says that maps give other files this one's id, too: see mapping.
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

// lowest returns the state of the file that has been found in another overlay
// of the same layers and has sites: whatever is attached there fires in this one,
// too. Without such a file, or if the kernel does not say which it is, lowest returns state.
func (d *Search) lowest(file *os.File, number uint64, state *fileState) (*fileState, bool) {
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

// unmappedScans are the scans, one after the other, that do not find a file mapped
// before it counts as gone: a process that has it may start another one and
// end itself while /proc is being read.
const unmappedScans = 2

// forgetUnmapped forgets the files that no process has mapped any more, as far as
// nothing is attached to them: their inode numbers may be given to others.
// Of those that are attached to, files without a name are put into Ended.
func (d *Search) forgetUnmapped() {
	hidden := d.sinceHidden()
	for id, f := range d.read {
		switch {
		case f.named || d.scan-f.seen < unmappedScans:
		case f.found < hidden:
			// A process that may not be looked at, and did not run yet when
			// another had the file, may have it from that one.
		case !f.matched:
			delete(d.read, id)
		case f.unlinked || f.removed():
			f.unlinked = true
			delete(d.read, id)
			d.Ended = append(d.Ended, Owner{File: id})
		}
	}
	forgotten := func(f *fileState) bool { return d.read[f.id] != f }
	for inode, f := range d.lower {
		if forgotten(f) {
			delete(d.lower, inode)
		}
	}
	for at, found := range d.mappings {
		if found.seen != d.scan || forgotten(found.state) {
			delete(d.mappings, at)
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
