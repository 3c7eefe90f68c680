package discover

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// processes searches the files that the named processes have mapped.
func (d *Search) processes() error {
	if d.Await {
		d.awaitFiles(d.procs.PIDs)
	}
	for _, pid := range d.procs.PIDs {
		if d.interrupted() {
			return nil
		}
		if err := d.held(pid); err != nil && !d.again && !d.Passing {
			return err
		}
	}
	d.leaveUnmapped()
	return nil
}

// held searches the files that process pid has mapped, unless it ends meanwhile.
func (d *Search) held(pid int) error {
	if d.again && d.procs.Ended(pid) {
		delete(d.mapped, pid)
		return nil
	}
	before := d.mark()
	err := d.process(pid)
	if d.procs.Ended(pid) {
		d.undo(before) // another process may have been read in its place
		if err == nil && !d.again {
			err = procfs.Error(pid, unix.ESRCH)
		}
	}
	return err
}

// mark is how much a search has found at some time.
type mark struct {
	parts, last int // of found, and of its last part
	matched     []bool
	near        []near
}

func (d *Search) mark() mark {
	m := mark{parts: len(d.found), matched: slices.Clone(d.matched), near: slices.Clone(d.near)}
	if m.parts > 0 {
		m.last = len(d.found[m.parts-1])
	}
	return m
}

// undo forgets what has been found since m.
func (d *Search) undo(m mark) {
	d.found, d.matched, d.near = d.found[:m.parts], m.matched, m.near
	if m.parts > 0 {
		d.found[m.parts-1] = d.found[m.parts-1][:m.last]
	}
}

// process searches the files that process pid has mapped.
func (d *Search) process(pid int) error {
	if !d.changed(pid) {
		return nil
	}
	return d.search(pid)
}

// search searches the files that process pid has mapped now, which may be fewer than changed has seen.
func (d *Search) search(pid int) error {
	proc, err := reader.OpenProcess(pid)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			return unreadable(pid, err)
		}
		return err
	}
	defer proc.Close()
	if !d.allIn(proc) {
		delete(d.mapped, pid) // it may map again what it has unmapped, before the next look
	}
	if d.wantsProbes() {
		for p, err := range proc.Probes() {
			if d.interrupted() {
				break
			}
			if err != nil {
				d.trouble(err, pid)
				continue
			}
			d.add(&p, pid)
		}
	}
	if d.wantsFunctions() {
		d.eachFunction(proc.Functions(d.mayHaveFunctions), func(err error) { d.trouble(err, pid) }, func(fn *reader.Function) { d.addFunction(fn, pid) })
		d.readCodeOf(pid)
		for p, err := range proc.Instructions(d.addresses) {
			if err != nil {
				d.trouble(err, pid)
				continue
			}
			d.addInstruction(&p, pid)
		}
	}
	return nil
}

// unreadable returns the error for a process whose memory map may not be read.
// Even root may be refused: by a security module, or if the process belongs to a container's
// host.
func unreadable(pid int, err error) error {
	e := &privilege.Error{Op: fmt.Sprintf("read the memory map of process %d", pid), Err: err}
	if !privilege.Has(unix.CAP_SYS_PTRACE) {
		e.Missing = []string{"CAP_SYS_PTRACE"}
	}
	return e
}

// allIn reports whether the process still had mapped, when it was opened, what changed has seen.
func (d *Search) allIn(proc *reader.Process) bool {
	paths := map[string]bool{}
	for range proc.Functions(func(path string) bool { paths[path] = true; return false }) {
	}
	return !slices.ContainsFunc(d.objects, func(o *procfs.Object) bool { return !paths[o.Path] })
}

// trouble keeps the error of a file that process pid has mapped.
func (d *Search) trouble(err error, pid int) {
	d.troubles = append(d.troubles, err)
	if errors.Is(err, os.ErrPermission) && !privilege.Has(unix.CAP_SYS_PTRACE) {
		d.privilege = &privilege.Error{Op: fmt.Sprintf("open the files that process %d has mapped", pid), Missing: []string{"CAP_SYS_PTRACE"}, Err: err}
	}
}

// changed reports whether the process may have mapped files since the last call.
// A file that was unmapped meanwhile counts as a change: another file may get its
// id. Nothing can be said of a process that shows no memory: it is ending, or its
// first thread has ended.
func (d *Search) changed(pid int) bool {
	maps, err := procfs.Maps(pid)
	if err != nil || len(maps) == 0 {
		delete(d.mapped, pid) // it may be executing a program, whose files are new then
		return true           // reading the process says what is wrong
	}
	known, now := d.mapped[pid], map[procfs.ID]bool{}
	changed := known == nil
	d.objects = procfs.Objects(pid, maps)
	for _, o := range d.objects {
		now[o.ID] = true
		changed = changed || !known[o.ID]
	}
	d.mapped[pid] = now
	d.missing(pid, now)
	return changed
}
