package collection

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	ebpflink "github.com/cilium/ebpf/link"

	"github.com/go-usdt/usdt/attach/internal/link"
	"github.com/go-usdt/usdt/attach/internal/site"
	"github.com/go-usdt/usdt/internal/privilege"
)

// The directories of a pinned collection.
const (
	mapPins     = "maps"
	programPins = "programs"
	linkPins    = "links" // with a directory for each program, and there one for each attachment
	kernelPin   = "kernel"
)

// pinName returns the file name of a map or program: a BPF file system takes no dots.
var pinName, namePinned = strings.NewReplacer("%", "%25", ".", "%2E", "/", "%2F").Replace, strings.NewReplacer("%2E", ".", "%2F", "/", "%25", "%").Replace

var errAdopted = errors.New("the collection was adopted: its programs stay where they are attached; load another one to attach elsewhere")

// Pin has the kernel keep the maps, the programs and what is attached by them after Close and
// after the end of this process, however it ends, until [Collection.Unpin]: it pins them in a
// directory of a BPF file system, from which [Adopt] takes them over. Records wait in rings for
// the next process: nothing is lost as long as these have room. Sites that [Options.Rescan] finds
// later are pinned as long as this process lives, later attachments are not. See
// [attach.Attachment.Pin].
func (c *Collection) Pin(dir string) (err error) {
	c.attaching.Lock()
	defer c.attaching.Unlock()
	c.using.RLock()
	defer c.using.RUnlock()
	switch {
	case c.isClosed():
		return errClosed
	case c.pinned != "":
		return fmt.Errorf("the collection is pinned to %s", c.pinned)
	}
	if err := site.Begin(dir); err != nil {
		return err
	}
	c.pinned = dir
	defer func() {
		if err != nil {
			err = errors.Join(privilege.Explain("pin to "+dir, err), c.unpin())
		}
	}()
	for _, sub := range []string{mapPins, programPins, linkPins} {
		if err := os.RemoveAll(filepath.Join(dir, sub)); err != nil { // of a Pin that did not come to its end
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	if err := pinCopies(filepath.Join(dir, mapPins), c.Maps); err != nil {
		return err
	}
	if err := pinCopies(filepath.Join(dir, programPins), c.Programs); err != nil {
		return err
	}
	return c.pinLinks(dir)
}

// pinCopies pins maps or programs, whose owner may have pinned them elsewhere.
func pinCopies[O interface {
	io.Closer
	Clone() (O, error)
	Pin(string) error
}](dir string, all map[string]O) error {
	for name, o := range all {
		o, err := o.Clone()
		if err != nil {
			return err
		}
		if err := errors.Join(o.Pin(filepath.Join(dir, pinName(name))), o.Close()); err != nil {
			return err
		}
	}
	return nil
}

// pinLinks pins what is attached, and finishes the directory.
func (c *Collection) pinLinks(dir string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.programs {
		of := filepath.Join(dir, linkPins, pinName(name))
		if err := os.Mkdir(of, 0o700); err != nil {
			return err
		}
		if p.link != nil {
			if err := p.link.Pin(filepath.Join(of, kernelPin)); err != nil {
				return err
			}
		}
		for i, a := range c.attachedBy(p) {
			if err := a.Pin(filepath.Join(of, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return site.Finish(dir)
}

// attachedBy returns the attachments of a program. c.mu is locked.
func (c *Collection) attachedBy(p *program) []*site.Attachment {
	return slices.DeleteFunc(slices.Collect(maps.Keys(c.attachments)), func(a *site.Attachment) bool { return c.attachments[a] != p })
}

// Unpin undoes Pin, also after Close. Programs run until both are called.
func (c *Collection) Unpin() error {
	c.attaching.Lock()
	defer c.attaching.Unlock()
	if c.pinned == "" {
		return errors.New("the collection is not pinned")
	}
	return c.unpin()
}

func (c *Collection) unpin() error {
	dir := c.pinned
	c.pinned = ""
	c.mu.Lock()
	for a := range c.attachments {
		_ = a.Unpin() // what is left is removed below
	}
	c.mu.Unlock()
	var all []error
	for _, sub := range []string{site.Whole, linkPins, programPins, mapPins} {
		all = append(all, os.RemoveAll(filepath.Join(dir, sub)))
	}
	os.Remove(dir) // where the caller may have pinned something else
	return errors.Join(all...)
}

// Adopt opens what [Collection.Pin] has left in a directory: Maps and Programs, by their names, and
// what is attached, which goes on. It looks for no new sites, and attaches nothing: Attach and AttachProgram are
// errors. Plan has what the kernel knows, see [attach.Adopt].
func Adopt(dir string) (c *Collection, err error) {
	if err := site.Finished(dir); err != nil {
		return nil, err
	}
	c = &Collection{
		Collection: &ebpf.Collection{Programs: map[string]*ebpf.Program{}, Maps: map[string]*ebpf.Map{}},
		pinned:     dir, adopted: true, programs: map[string]*program{}, attachments: map[*site.Attachment]*program{},
	}
	defer func() {
		if err != nil {
			c.Close()
			c, err = nil, privilege.Explain("adopt "+dir, err)
		}
	}()
	err = eachPin(filepath.Join(dir, mapPins), func(name, path string) (err error) {
		c.Maps[name], err = ebpf.LoadPinnedMap(path, nil)
		return err
	})
	if err != nil {
		return c, err
	}
	err = eachPin(filepath.Join(dir, programPins), func(name, path string) (err error) {
		c.Programs[name], err = ebpf.LoadPinnedProgram(path, nil)
		return err
	})
	if err != nil {
		return c, err
	}
	return c, eachPin(filepath.Join(dir, linkPins), func(name, path string) error {
		p := &program{prog: c.Programs[name]}
		c.programs[name] = p
		return eachPin(path, func(name, path string) (err error) {
			if name == kernelPin {
				p.link, err = ebpflink.LoadPinnedLink(path, nil)
				return err
			}
			a, err := site.Pinned(path)
			if err == nil {
				c.attachments[a] = p
			}
			return err
		})
	})
}

// eachPin calls f with the names and paths of what is pinned to a directory.
func eachPin(dir string, f func(name, path string) error) error {
	entries, err := os.ReadDir(dir)
	for i := 0; err == nil && i < len(entries); i++ {
		err = f(namePinned(entries[i].Name()), filepath.Join(dir, entries[i].Name()))
	}
	return err
}

// Links returns the kernel's links by which a program is attached, see [attach.Attachment.Links].
func (c *Collection) Links(program string) (all []ebpflink.Link, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.programs[program]
	if p == nil {
		return nil, nil
	}
	for _, a := range c.attachedBy(p) {
		links, linkErr := a.Links()
		all, err = append(all, links...), errors.Join(err, linkErr)
	}
	if raw, ok := p.link.(interface{ FD() int }); ok {
		l, linkErr := link.Copy(raw.FD())
		if err = errors.Join(err, linkErr); linkErr == nil {
			all = append(all, l)
		}
	}
	return all, err
}
