package discover

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// machine searches the files that selectors name by path and the files that any process has
// mapped.
func (d *Search) machine(urgent func() bool) error {
	defer d.inodes.Close()
	scan := false
	var names []string
	for i := range d.selectors {
		path, ok := d.selectors[i].LiteralPath()
		literal := ok && strings.Contains(path, "/")
		if scan = scan || !literal || d.Members != nil; d.Members != nil && !(literal && d.Await) {
			continue
		}
		if !literal {
			if ok {
				names = append(names, path)
			}
			if err := d.matching(&d.selectors[i]); err != nil {
				return err
			}
			continue
		}
		switch err := d.named(path); {
		case err != nil && (d.again || d.Await && errors.Is(err, os.ErrNotExist)):
			// The file may come, or come back, and others come meanwhile.
			d.troubles = append(d.troubles, err)
		case err != nil:
			return err
		}
	}
	// A name also selects a file found by a path, but not the other way round.
	for _, name := range names {
		d.installed(name)
	}
	if scan {
		for _, path := range d.starting() {
			if d.mayMatch(path) {
				d.unmapped(path)
			}
		}
	}
	if !scan {
		return nil
	}
	if len(d.rest) == 0 {
		pids, err := d.pids()
		if err != nil {
			return err
		}
		d.scan, d.rest = d.scan+1, pids
	}
	for ; len(d.rest) > 0; d.rest = d.rest[1:] {
		if d.interrupted() || urgent() {
			return nil
		}
		if d.Selects == nil || d.Selects(d.rest[0]) {
			d.mappedBy(&reading{pid: d.rest[0]})
		}
	}
	d.forgetUnmapped()
	return nil
}

// pids returns the processes that are searched.
func (d *Search) pids() ([]int, error) {
	switch {
	case len(d.procs.PIDs) > 0:
		return d.procs.PIDs, nil
	case d.Members != nil:
		return d.Members()
	}
	return procfs.PIDs()
}

// matching searches the files that a path with wildcards names. It leaves out
// files that cannot be read or are no ELF files.
func (d *Search) matching(sel *selector.Selector) error {
	files, err := sel.Files()
	if err != nil {
		return err
	}
	for _, path := range files {
		d.unmapped(path)
	}
	return nil
}

// unmapped searches a file as if the next scan had found it mapped. It leaves out files
// that cannot be read or are no ELF files.
func (d *Search) unmapped(path string) {
	state := &fileState{path: path, found: d.scan + 1, seen: d.scan + 1}
	if err := d.onDisk(path, state); err != nil && !errors.Is(err, reader.ErrNotELF) {
		d.troubles = append(d.troubles, err)
	}
}

// settled is how long ago a file must have changed for its next change to show in
// its time of change: file systems count in ticks of the clock, or in seconds.
const settled = 2 * time.Second

// named searches the file that a selector names.
func (d *Search) named(path string) error {
	return d.onDisk(path, &fileState{named: true, seen: d.scan})
}

// onDisk searches a file that need not be running; state is its state if it is
// new. A file without a match is searched again when it has changed: it may have
// been written only now.
func (d *Search) onDisk(path string, state *fileState) error {
	if st, err := statOf(path); err == nil {
		id := procfs.ID{Dev: st.Dev, Inode: st.Ino}
		if f := d.read[id]; f != nil {
			f.named, f.seen = f.named || state.named, max(f.seen, state.seen)
			if f.matched || f.changed == st.Ctim {
				return nil
			}
			state = f
		} else {
			state.id, state.own = id, id
			d.read[id] = state
		}
		state.changed = syscall.Timespec{}
		if changed := time.Unix(st.Ctim.Unix()); time.Since(changed).Abs() > settled {
			state.changed = st.Ctim
		}
	}
	f, err := reader.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if file, err := procfs.OpenFile(path); err == nil {
		_, inode := lower(file, state.id.Inode, &d.inodes)
		lowest, known := d.lowest(inode, state)
		file.Close()
		if known && !state.named {
			d.read[state.id] = lowest // sites there also fire in this file
			return nil
		}
	}
	d.file(f, state, path, "")
	return nil
}

// statOf returns what the file system knows of the file at path.
func statOf(path string) (*syscall.Stat_t, error) {
	info, err := procfs.Stat(path)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return st, nil
}

// mappedBy searches the files that a process has mapped and no other had. It reports whether
// the process was there.
func (d *Search) mappedBy(r *reading) bool {
	r.read()
	switch err := r.err; {
	case err != nil:
		if !errors.Is(err, os.ErrNotExist) {
			if errors.Is(err, os.ErrPermission) && !privilege.Has(unix.CAP_SYS_PTRACE) {
				err = unreadable(r.pid, err)
			}
			d.troubles = append(d.troubles, err)
			d.hide(r.pid)
		}
		return false
	case r.none:
		if headless(r.pid) {
			d.hide(r.pid)
		}
		return false
	}
	if r.copied != "" && d.namedIn(r.pid, r.copied) {
		d.copied.note(r.pid, r.copied)
	}
	for _, o := range r.objects {
		if d.interrupted() {
			return true
		}
		if f := d.known(&o.Object, r.pid); f != nil {
			f.seen = d.scan
			continue
		}
		if d.mayMatch(o.Path) {
			d.inMapped(o, r.pid)
		}
	}
	return true
}

// inMapped searches a file that process pid has mapped.
func (d *Search) inMapped(o *mappedObject, pid int) {
	file := o.read(&d.inodes)
	if file.err != nil {
		if !errors.Is(file.err, os.ErrNotExist) {
			d.troubles = append(d.troubles, file.err)
		}
		return
	}
	state, known := d.stateOf(o, pid)
	if known {
		return
	}
	open := file.opened
	if open == file.path {
		state.path, open = open, ""
	}
	if file.elf != nil {
		if !errors.Is(file.elf, reader.ErrNotELF) {
			d.troubles = append(d.troubles, fmt.Errorf("%s: %w", file.path, file.elf))
		}
		return
	}
	if d.mayHaveFunctions(file.path) {
		o.again(func(f *reader.File) { d.fileFunctions(f, state, file.path, open) })
	}
	if !d.wantsProbes() {
		return
	}
	d.troubles = append(d.troubles, file.errs...)
	for i := range file.probes {
		if d.interrupted() {
			return
		}
		d.addIn(file.probes[i], state, file.path, open)
	}
}

// Users returns the processes that have mapped one of the files, as a search in all processes has
// them, by now.
func (d *Search) Users(files map[procfs.ID]bool) (pids []int) {
	all, err := d.pids()
	if err != nil {
		return nil
	}
	for _, pid := range all {
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		for _, o := range procfs.Objects(pid, maps) {
			if f := d.known(o, pid); f != nil && files[f.id] {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
