package jit

import (
	"cmp"
	"slices"
	"sync"

	"github.com/go-usdt/usdt/symbols/internal/span"
)

// Code is code that a program has generated, by address. It grows with what is read.
// Several goroutines may use it at once.
type Code struct {
	mu        sync.Mutex
	functions []function
	index     *span.Table // nil if functions have come since it was made
	held      int64
}

// function is a piece of code. Later ones replace earlier ones at their addresses.
type function struct {
	low, high uint64
	name      string
	lines     []Line
}

// Line says that code from Addr on comes from a line.
type Line struct {
	Addr uint64
	File string
	Line int
}

// maxMemory is the number of bytes of memory that a process's code may take. Further
// functions are left out.
const maxMemory = 64 << 20

// add adds a function. It returns false if the memory for functions is used up.
func (c *Code) add(f function) bool {
	if f.high <= f.low || f.name == "" {
		return true
	}
	size := int64(96 + len(f.name) + 40*len(f.lines))
	if c.held+size > maxMemory {
		return false
	}
	c.held += size
	c.functions, c.index = append(c.functions, f), nil
	return true
}

// Find returns the name of the function at addr, and its file and line
// if the program says them.
func (c *Code) Find(addr uint64) (name string, line Line, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index == nil {
		spans := make([]span.Span, len(c.functions))
		for i, f := range c.functions {
			spans[i] = span.Span{Low: f.low, High: f.high, Rank: uint32(i), ID: uint32(i)}
		}
		c.index = span.New(spans)
	}
	id, ok := c.index.Find(addr)
	if !ok {
		return "", Line{}, false
	}
	f := &c.functions[id]
	i, found := slices.BinarySearchFunc(f.lines, addr, func(l Line, addr uint64) int { return cmp.Compare(l.Addr, addr) })
	if !found {
		i--
	}
	if i >= 0 {
		line = f.lines[i]
	}
	return f.name, line, true
}
