package cgroups

import (
	"fmt"
	"sync"

	"github.com/go-usdt/usdt/internal/container"
)

// Table has what is known of control groups by their ids. Its methods may be called by several
// goroutines. A nil Table knows none.
type Table struct {
	mu     sync.Mutex
	groups map[uint64]container.Group
	first  map[word]uint64 // a group that has a word
}

// word is a word of a group.
type word struct {
	of   container.Word
	text string
}

// NewTable returns a table of no groups.
func NewTable() *Table {
	return &Table{groups: map[uint64]container.Group{}, first: map[word]uint64{}}
}

// Put notes what is known of a group.
func (t *Table) Put(id uint64, g container.Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.groups[id] = g
}

// Forget removes what is known of a group.
func (t *Table) Forget(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[id]
	delete(t.groups, id)
	for _, w := range []container.Word{container.PathWord, container.ContainerWord, container.PodWord} {
		if in := (word{w, g.Text(w)}); t.first[in] == id {
			delete(t.first, in)
		}
	}
}

// Of returns what is known of a group.
func (t *Table) Of(id uint64) (g container.Group, known bool) {
	if t == nil {
		return g, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g, known = t.groups[id]
	return g, known
}

// Text returns a word of a group. The path of a group that is not known has its id.
func (t *Table) Text(id uint64, w container.Word) string {
	if t == nil {
		return textOf(nil, id, w)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return textOf(t.groups, id, w)
}

func textOf(groups map[uint64]container.Group, id uint64, w container.Word) string {
	g, known := groups[id]
	if !known && w == container.PathWord {
		return fmt.Sprintf("[id %d]", id)
	}
	return g.Text(w)
}

// Same returns the id of a group that stands for all with the same word: several groups may belong
// to a container, and several containers to a pod.
func (t *Table) Same(id uint64, w container.Word) uint64 {
	if t == nil {
		return id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.groups[id]; !known && w == container.PathWord {
		return id
	}
	in := word{w, textOf(t.groups, id, w)}
	first, known := t.first[in]
	if known && textOf(t.groups, first, w) == in.text {
		return first
	}
	t.first[in] = id
	return id
}
