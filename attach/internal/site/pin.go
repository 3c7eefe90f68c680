package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	ebpflink "github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/internal/privilege"
	"github.com/go-usdt/usdt/reader"
)

// Whole is the directory, beside what was pinned, that says that all of it was.
const Whole = "whole"

// pins is the directory of a BPF file system that an attachment is pinned to.
type pins struct {
	dir  string // empty if it is not pinned
	next int    // the name of the next link
}

// Links returns the kernel's links, each with a descriptor of its own.
func (a *Attachment) Links() (all []ebpflink.Link, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.links {
		o, err := l.Object()
		if err != nil {
			for _, o := range all {
				o.Close()
			}
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// Pin has the kernel keep what is attached, and will be, beyond Close and the end of this process.
func (a *Attachment) Pin(dir string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.detached:
		return errors.New("pin: the attachment has detached")
	case a.pins.dir != "":
		return fmt.Errorf("pin: the attachment is pinned to %s", a.pins.dir)
	case len(a.counts.keepers) > 0:
		return errors.New("pin: this process keeps count of semaphores that the kernel miscounts, and nobody would after its end")
	}
	if err := Begin(dir); err != nil {
		return err
	}
	err := removePins(dir)
	a.pins.dir = dir
	if err == nil {
		err = a.pin(a.links)
	}
	if err == nil {
		err = Finish(dir)
	}
	if err != nil {
		return errors.Join(privilege.Explain("pin to "+dir, err), a.unpin())
	}
	return nil
}

// Begin makes a directory for pins, unless all pins are there.
func Begin(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil && Finished(dir) == nil {
		err = errors.New("something is pinned there: adopt it, or remove the directory")
	}
	if err != nil {
		return privilege.Explain("pin to "+dir, err)
	}
	return nil
}

// Finish says that all pins are there.
func Finish(dir string) error { return os.Mkdir(filepath.Join(dir, Whole), 0o700) }

// Finished returns an error unless all pins are there.
func Finished(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, Whole)); err != nil {
		return fmt.Errorf("%s holds nothing that was pinned to its end: %w", dir, err)
	}
	return nil
}

// pin pins links. a.mu is locked.
func (a *Attachment) pin(links []link.Link) error {
	for i := range links {
		path := filepath.Join(a.pins.dir, strconv.Itoa(a.pins.next))
		if err := links[i].Pin(path); err != nil {
			return err
		}
		a.pins.next++
	}
	return nil
}

// Unpin undoes Pin.
func (a *Attachment) Unpin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pins.dir == "" {
		return errors.New("unpin: the attachment is not pinned")
	}
	return a.unpin()
}

func (a *Attachment) unpin() error {
	dir := a.pins.dir
	a.pins = pins{}
	for i := range a.links {
		a.links[i].Path = ""
	}
	whole := os.Remove(filepath.Join(dir, Whole))
	if errors.Is(whole, os.ErrNotExist) {
		whole = nil
	}
	err := errors.Join(whole, removePins(dir))
	os.Remove(dir) // where the caller may have pinned something else
	return err
}

// removePins removes the links that are pinned to a directory.
func removePins(dir string) error {
	all, err := pinned(dir)
	for _, n := range all {
		err = errors.Join(err, os.Remove(filepath.Join(dir, strconv.Itoa(n))))
	}
	return err
}

// pinned returns the names of the links that are pinned to a directory.
func pinned(dir string) (all []int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	return all, err
}

// Pinned opens what was pinned to a directory. Its plan has what the kernel knows of the sites.
func Pinned(dir string) (a *Attachment, err error) {
	err = Finished(dir)
	var all []int
	if err == nil {
		all, err = pinned(dir)
	}
	var plan Plan
	var links []link.Link
	for _, n := range all {
		l, info, openErr := link.Pinned(filepath.Join(dir, strconv.Itoa(n)))
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		links, plan = append(links, l), append(plan, sitesOf(info, l)...)
	}
	if err != nil {
		return nil, errors.Join(privilege.Explain("adopt "+dir, err), closeLinks(links))
	}
	a = Unattached(plan)
	a.links, a.pins.dir = links, dir
	for _, n := range all {
		a.pins.next = max(a.pins.next, n+1)
	}
	return a, nil
}

// sitesOf returns what the kernel knows of a link's sites. Before Linux 6.8 it does not say where they are.
func sitesOf(info *ebpflink.Info, l link.Link) (plan Plan) {
	add := func(path string, offset, semaphore uint64) {
		p := reader.Probe{Path: path, OpenPath: path, Offset: offset, SemaphoreOffset: semaphore}
		plan = append(plan, Site{Report: Report{Probe: p, PID: l.PID, Path: path, Offset: offset, Attached: true}})
	}
	if m := info.UprobeMulti(); m != nil {
		places, _ := m.Offsets()
		for _, p := range places {
			add(m.File, p.Offset, p.ReferenceCount)
		}
	} else if e := info.PerfEvent(); e != nil && e.Uprobe() != nil {
		add(e.Uprobe().File, uint64(e.Uprobe().Offset), e.Uprobe().OffsetReferenceCount)
	}
	if len(plan) == 0 {
		add("", 0, 0)
	}
	return plan
}
