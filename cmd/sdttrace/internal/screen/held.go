package screen

import (
	"io"
	"sync"
)

// maxHeld is how much output is kept while the screen is in use.
const maxHeld = 256 << 10

// Held keeps what is written while the screen is in use, at most the last
// maxHeld bytes of it.
type Held struct {
	mu       sync.Mutex // of what follows
	W        io.Writer
	held     []byte
	released bool
}

func (h *Held) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return h.W.Write(b)
	}
	h.held = append(h.held, b...)
	if more := len(h.held) - maxHeld; more > 0 {
		h.held = append(h.held[:0], h.held[more:]...)
	}
	return len(b), nil
}

// Release writes what was kept, and from then on everything at once.
func (h *Held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	WriteLines(h.W, h.held)
	h.held = nil
}
