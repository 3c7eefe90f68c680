package attach

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// mappedFile is a file with sites that a named process has mapped, or had.
type mappedFile struct {
	probe  reader.Probe // one of those in it
	keys   []siteKey    // of its sites
	missed int          // looks, one after the other, that have not found it mapped
}

// objectOf returns the object of the process being looked at that has the probe,
// nil if it was unmapped meanwhile.
func (d *discovery) objectOf(p *reader.Probe) *procfs.Object {
	for _, o := range d.objects {
		if o.Path != p.Path {
			continue
		}
		for i := range o.Maps {
			if m := &o.Maps[i]; p.Live.Address >= m.Start && p.Live.Address < m.End {
				return o
			}
		}
	}
	return nil
}

// keepMapped notes which mapped file of a named process has the site, so that the
// site can be left with the file.
func (d *discovery) keepMapped(s *Site, key siteKey) {
	if s.Probe.Live == nil {
		return // the site waits for its file, see expect
	}
	o := d.objectOf(&s.Probe)
	if o == nil {
		// The file was mapped after the process's maps were read for d.objects.
		maps, err := procfs.Maps(s.PID)
		if err != nil {
			return
		}
		d.objects = procfs.Objects(s.PID, maps)
		if o = d.objectOf(&s.Probe); o == nil {
			return
		}
	}
	s.file = o.ID
	files := d.files[s.PID]
	if files == nil {
		files = map[procfs.ID]*mappedFile{}
		d.files[s.PID] = files
	}
	f := files[o.ID]
	if f == nil {
		f = &mappedFile{probe: s.Probe}
		files[o.ID] = f
	}
	f.keys = append(f.keys, key)
}

// missing counts the looks at process pid that have not found a file mapped.
func (d *discovery) missing(pid int, mapped map[procfs.ID]bool) {
	for id, f := range d.files[pid] {
		if mapped[id] {
			f.missed = 0
		} else {
			f.missed++
		}
	}
}

// leaveUnmapped puts the files into d.ended that a named process has unmapped and
// that have no name by which the process could map them again. A file with a name
// stays attached to: the next time it is mapped its probes fire from the start.
func (d *discovery) leaveUnmapped() {
	for pid, files := range d.files {
		for id, f := range files {
			if f.missed < endedScans || !f.removed() {
				continue
			}
			for _, key := range f.keys {
				delete(d.seen, key)
			}
			delete(files, id)
			d.ended = append(d.ended, owner{id, pid})
		}
	}
}

// removed reports whether the path by which the file was found leads to it no
// more, or leads to it by a descriptor only.
func (f *mappedFile) removed() bool {
	info, err := os.Stat(f.probe.Attachable())
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	if !f.probe.IsIn(info) {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// leave notes that processes have left files, and returns the owners of the links
// that no process needs any more.
func (sh *sharing) leave(left []owner, procs *process.Set) (unused []owner) {
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
			if procs.Ended(o.pid) {
				delete(users, o)
			}
		}
		if len(users) > 0 {
			continue
		}
		delete(sh.users, file)
		for place, first := range sh.first {
			if first.file == file {
				delete(sh.first, place)
			}
		}
		unused = append(unused, owner{file: file})
	}
	return unused
}

// use notes that a site depends on the link of the first site of its place.
func (sh *sharing) use(first, s *Site) {
	if first.file == (procfs.ID{}) {
		return // the link stays
	}
	users := sh.users[first.file]
	if users == nil {
		users = map[owner]bool{}
		sh.users[first.file] = users
	}
	users[owner{s.file, s.PID}] = true
}

// ownersOf returns the owners of the sites of a process.
func (a *Attachment) ownersOf(pid int) (all []owner) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.plan {
		if o := a.plan[i].owner(); o.pid == pid && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}
