package main

import (
	"io"
	"sync"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/screen"
)

// maxHeld is how much output is kept while the screen is in use.
const maxHeld = 256 << 10

// heldOutput keeps what is written while the screen is in use, at most the last
// maxHeld bytes of it.
type heldOutput struct {
	mu       sync.Mutex // of what follows
	w        io.Writer
	held     []byte
	released bool
}

func (h *heldOutput) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.released {
		return h.w.Write(b)
	}
	h.held = append(h.held, b...)
	if more := len(h.held) - maxHeld; more > 0 {
		h.held = append(h.held[:0], h.held[more:]...)
	}
	return len(b), nil
}

// release writes what was kept, and from then on everything at once.
func (h *heldOutput) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	screen.WriteLines(h.w, h.held)
	h.held = nil
}
