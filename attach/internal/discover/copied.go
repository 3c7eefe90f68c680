package discover

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
	"github.com/go-usdt/usdt/reader"
)

// maxCopied bounds how many processes with copied code are named.
const maxCopied = 64

// copiedCode are processes that run copies of their code. A look notes them while others ask.
type copiedCode struct {
	mu    sync.Mutex
	paths map[int]string // by process
}

func (c *copiedCode) note(pid int, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paths == nil {
		c.paths = map[int]string{}
	}
	if len(c.paths) < maxCopied {
		c.paths[pid] = path
	}
}

// namedIn reports whether selectors name something in the file at path, as a process sees it, or may
// do so if the file cannot be read.
func (d *Search) namedIn(pid int, path string) bool {
	if !d.mayMatch(path) {
		return false
	}
	if slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return s.Kind.InFile() && s.MatchPath(path) }) {
		return true
	}
	file, err := procfs.OpenIn(pid, path)
	if err != nil {
		return true
	}
	defer file.Close()
	f, err := reader.NewFile(file)
	if err != nil {
		return true
	}
	for p, err := range f.Probes() {
		if err != nil {
			return true
		}
		p.Path = path
		if slices.ContainsFunc(d.selectors, func(s selector.Selector) bool { return Selects(&s, &p) }) {
			return true
		}
	}
	return false
}

// Copied returns which processes of the machine run code, of files in which selectors name something,
// from copies in anonymous memory.
func (d *Search) Copied() (errs []error) {
	d.copied.mu.Lock()
	defer d.copied.mu.Unlock()
	for _, pid := range slices.Sorted(maps.Keys(d.copied.paths)) {
		errs = append(errs, fmt.Errorf("process %d runs code of %s that it has copied to anonymous memory, as for large pages: no probe fires there", pid, d.copied.paths[pid]))
	}
	return errs
}
