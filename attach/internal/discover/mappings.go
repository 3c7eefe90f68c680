package discover

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// mapping is where a process has a file mapped: its id in /proc/PID/maps, and the
// path in the file systems that the process sees. On btrfs the id has the device
// of the whole file system, while each subvolume numbers its files by itself, so
// that only the mapping distinguishes files of one id.
type mapping struct {
	id     procfs.ID
	path   string
	mounts procfs.ID // of the mount namespace
}

// mappingState is the file in a mapping, and the scan that last looked it up.
type mappingState struct {
	state *fileState
	seen  int
}

func mappingOf(o *procfs.Object, pid int) mapping {
	m := mapping{id: o.ID, path: o.Path}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &st); err == nil {
		m.mounts = procfs.ID{Dev: st.Dev, Inode: st.Ino}
	}
	return m
}

// known returns the state of a file that process pid has mapped, nil if it has
// not been searched.
func (d *Search) known(o *procfs.Object, pid int) *fileState {
	f := d.read[o.ID]
	if f == nil || !f.shared {
		return f
	}
	at := mappingOf(o, pid)
	found, ok := d.mappings[at]
	if ok {
		d.mappings[at] = mappingState{found.state, d.scan}
	}
	return found.state
}

// stateOf returns the state of a file that was read, which process pid has mapped, and
// whether the file was searched before. On btrfs and some overlays the id in
// /proc/PID/maps differs from that of stat, by which the files that selectors
// name are known: both lead to one state. The state of a file on an overlay is
// that of the file below.
func (d *Search) stateOf(o *mappedObject, pid int) (state *fileState, known bool) {
	own, unlinked, changed := o.ID, false, syscall.Timespec{}
	if st := o.file.stat; st != nil {
		own, unlinked, changed = procfs.ID{Dev: st.Dev, Inode: st.Ino}, st.Nlink == 0, st.Ctim
	}
	shared := own != o.ID && !o.file.holds
	if state, known = d.read[own]; !known {
		state = &fileState{id: o.ID, own: own, unlinked: unlinked, found: d.scan, changed: changed}
		if shared {
			state.id = own
		}
		state, known = d.lowest(o.file.lower, state)
		d.read[own] = state
	}
	state.seen = d.scan
	d.read[o.ID] = state
	if shared {
		state.shared = true
		d.mappings[mappingOf(&o.Object, pid)] = mappingState{state, d.scan}
	}
	return state, known
}
