package discover

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// mappedFile is a file with sites that a named process has mapped, or had.
type mappedFile struct {
	probe  reader.Probe // one of the probes in it
	keys   []siteKey    // of its sites
	missed int          // looks in a row that have not found it mapped
}

// objectOf returns the object that has the probe in the process being searched,
// nil if it was unmapped meanwhile.
func (d *Search) objectOf(p *reader.Probe) *procfs.Object {
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
// site can end with the file. It reports whether the site is still there.
func (d *Search) keepMapped(s *Site, key siteKey) bool {
	if s.Probe.Live == nil {
		return true // the site waits for its file, see awaitFiles
	}
	o := d.objectOf(&s.Probe)
	if o == nil {
		// The file was mapped after the process's maps were read for d.objects.
		maps, err := procfs.Maps(s.PID)
		if err != nil {
			return true
		}
		d.objects = procfs.Objects(s.PID, maps)
		if o = d.objectOf(&s.Probe); o == nil {
			at := s.Probe.Live.Address
			return slices.ContainsFunc(maps, func(m procfs.Mapping) bool { return at >= m.Start && at < m.End && m.Path != "" })
		}
	}
	s.File = o.ID
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
	return true
}

// missing counts the looks at process pid that have not found each of its files
// mapped.
func (d *Search) missing(pid int, mapped map[procfs.ID]bool) {
	for id, f := range d.files[pid] {
		if mapped[id] {
			f.missed = 0
		} else {
			f.missed++
		}
	}
}

// leaveUnmapped puts files into Ended that a named process has unmapped and that
// have no name by which the process could map them again. A file with a name
// stays attached: the next time it is mapped, its probes fire from the start.
func (d *Search) leaveUnmapped() {
	for pid, files := range d.files {
		for id, f := range files {
			if f.missed < unmappedScans || !f.removed() {
				continue
			}
			for _, key := range f.keys {
				delete(d.seen, key)
			}
			delete(files, id)
			d.Ended = append(d.Ended, Owner{id, pid})
		}
	}
}

// removed reports whether the path by which the file was found no longer leads to
// it, or does so only through a descriptor.
func (f *mappedFile) removed() bool {
	info, err := procfs.Stat(f.probe.Attachable())
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	if !f.probe.IsIn(info) {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}

// Forget makes the search find the sites of a process again.
func (d *Search) Forget(pid int) {
	for key := range d.seen {
		if key.pid == pid {
			delete(d.seen, key)
		}
	}
	delete(d.mapped, pid)
	delete(d.files, pid)
	d.awaited = nil
}

// Leave makes the search find the sites of a file in one process again.
func (d *Search) Leave(o Owner) {
	f := d.files[o.PID][o.File]
	if f == nil {
		return
	}
	for _, key := range f.keys {
		delete(d.seen, key)
	}
	delete(d.files[o.PID], o.File)
	delete(d.mapped, o.PID)
}
