package discover

import (
	"fmt"
	"maps"
	"slices"
	"sync"
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

// Copied returns which processes of the machine run code, of files that selectors may name,
// from copies in anonymous memory.
func (d *Search) Copied() (errs []error) {
	d.copied.mu.Lock()
	defer d.copied.mu.Unlock()
	for _, pid := range slices.Sorted(maps.Keys(d.copied.paths)) {
		errs = append(errs, fmt.Errorf("process %d runs code of %s that it has copied to anonymous memory, as for large pages: no probe fires there", pid, d.copied.paths[pid]))
	}
	return errs
}
