package naming

import (
	"sync"

	"github.com/go-usdt/usdt/symbols"
)

// maxNames is how many bytes the names of code take that are kept of all processes. A file can
// say that very many functions run at each of its addresses.
const maxNames = 128 << 20

// nameCache keeps the names of code.
type nameCache struct {
	mu    sync.Mutex
	names map[place][]symbols.Frame
	size  int
}

// place is where something was looked up: the address itself or the call before it, in what a
// process had mapped, which has a number.
type place struct {
	version uint64
	pc      uint64
	call    bool
}

func (c *nameCache) find(at place) (names []symbols.Frame, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, ok = c.names[at]
	return names, ok
}

func (c *nameCache) keep(at place, names []symbols.Frame) {
	size := 128
	for i := range names {
		size += 160 + len(names[i].Func) + len(names[i].Symbol) + len(names[i].File)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.names == nil || c.size > maxNames {
		c.names, c.size = map[place][]symbols.Frame{}, size
	}
	c.names[at] = names
}
