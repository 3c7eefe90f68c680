package maplog

import (
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols"
)

// Image is what a process had mapped from when it began, or executed a file, until it executed
// another one or ended.
type Image struct {
	Modules []symbols.Module // by address
	Whole   bool             // there was nothing else
	Parent  int              // the process whose code it also had when it began; 0 if it had none
}

// Images returns what is known of a process that may have ended, the last image first. It opens
// files.
func (l *Log) Images(pid int) (out []Image) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	p := l.lives[pid]
	if p == nil {
		l.mu.Unlock()
		return nil
	}
	images := slices.Clone(p.images) // whose mappings are only appended to
	l.mu.Unlock()
	for _, im := range slices.Backward(images) {
		modules := []symbols.Module{}
		for _, m := range regions(im.maps) {
			path, id := l.module(m.file)
			modules = append(modules, symbols.Module{Path: path, BuildID: id, Start: m.start, End: m.end, Offset: m.offset})
		}
		out = append(out, Image{Modules: modules, Whole: im.whole, Parent: im.parent})
	}
	return out
}

// deleted is what the kernel appends to the path of a file without a name.
const deleted = " (deleted)"

// module returns the path and build-id by which the file is known. The kernel finds no build-id
// where no program header leads to its note, as in Go's programs. Such a file must be that of the
// path still, else its path leads to none.
func (l *Log) module(f file) (path, buildID string) {
	switch {
	case !f.regular():
		return f.path, ""
	case f.buildID != "":
		return strings.TrimSuffix(f.path, deleted), f.buildID
	}
	l.identifying.Lock()
	id, known := l.ids[f]
	l.identifying.Unlock()
	if !known {
		id.ok, id.buildID = identify(f) // the file may be on a file system that does not answer
		l.identifying.Lock()
		if len(l.ids) >= maxFiles {
			clear(l.ids)
		}
		l.ids[f] = id
		l.identifying.Unlock()
	}
	if !id.ok {
		return strings.TrimSuffix(f.path, deleted) + deleted, ""
	}
	return f.path, id.buildID
}

// identity is what is known of a file whose build-id the kernel has not found.
type identity struct {
	ok      bool // its path leads to it
	buildID string
}

// identify opens the path of a file, and returns the build-id if it is that file.
func identify(f file) (ok bool, buildID string) {
	opened, err := procfs.OpenFile(f.path)
	if err != nil {
		return false, ""
	}
	defer opened.Close()
	if id, err := procfs.IDOf(opened); err != nil || id.Inode != f.inode {
		return false, ""
	}
	elf, err := safeelf.NewFile(opened)
	if err != nil {
		return false, ""
	}
	return true, elf.BuildID()
}
