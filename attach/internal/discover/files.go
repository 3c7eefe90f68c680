package discover

import (
	"errors"
	"os"
	"syscall"

	"github.com/go-usdt/usdt/attach/internal/overlay"
	"github.com/go-usdt/usdt/internal/procfs"
)

// fileState is what is known about a file that was searched for probes.
type fileState struct {
	id procfs.ID
	// shared says that /proc/PID/maps also gives other files this one's id: see mapping.
	shared   bool
	named    bool // by a selector
	matched  bool // has sites
	changed  syscall.Timespec
	unlinked bool      // has no name, so that it comes only from a process that has it
	path     string    // its name here, if it has one
	own      procfs.ID // by stat
	found    int       // the scan that first found it mapped by a process
	seen     int       // the last one
}

// lower reports whether a file, which has this number, is on an overlay, and which inode of the layer below it
// is; nil if the kernel does not say that.
func lower(file *procfs.File, number uint64, inodes *overlay.Inodes) (holds bool, inode *overlay.Inode) {
	if !overlay.Holds(file) {
		return false, nil
	}
	below, err := inodes.Of(file, number)
	if err != nil {
		return true, nil
	}
	return true, &below
}

// lowest returns the state of the same file in another overlay of the same
// layers, if it was found there and has sites: what is attached there also fires in this one. If
// there is no such file, or the kernel does not say which it is, lowest returns state.
func (d *Search) lowest(inode *overlay.Inode, state *fileState) (*fileState, bool) {
	if inode == nil {
		return state, false
	}
	if other := d.lower[*inode]; other != nil && other.matched {
		return other, true
	}
	d.lower[*inode] = state
	return state, false
}

// unmappedScans is how many scans in a row must not find a file mapped before it
// counts as gone: a process that has it may start another one and end while /proc
// is being read.
const unmappedScans = 2

// forgetUnmapped forgets the files that no process has mapped any more and to
// which nothing is attached: their inode numbers may be given to others. It puts
// attached files without a name into Ended.
func (d *Search) forgetUnmapped() {
	hidden := d.sinceHidden()
	for id, f := range d.read {
		switch {
		case f.named || d.scan-f.seen < unmappedScans:
		case f.found < hidden:
			// A process that may not be inspected, and started after another one
			// had the file, may have got it from there.
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

// removed reports whether the name by which the file was found no longer leads to
// it: files that are built, run and deleted would each cost a link, and their
// space on disk, until the end. A file with another name is found again when a
// process has it mapped.
func (f *fileState) removed() bool {
	if f.path == "" {
		return false
	}
	st, err := statOf(f.path)
	return errors.Is(err, os.ErrNotExist) || err == nil && f.own != procfs.ID{Dev: st.Dev, Inode: st.Ino}
}
