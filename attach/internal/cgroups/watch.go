package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/container"
)

// Most is how many selected groups there can be at a time.
const Most = 1 << 16

// Watch keeps the ids of the selected groups in a map. Programs also look for the groups above
// that of a process, so that groups below a selected one count.
type Watch struct {
	Map *ebpf.Map // of ids; the values mean nothing

	selector container.Selector
	names    container.Names
	tree     tree

	// tree.mu is locked:
	chosen map[string]uint64 // selected groups
	unsure map[string]bool   // whose names may come later
}

// Open finds the groups that there are, and begins to wait for others.
func Open(selector container.Selector, names container.Names) (_ *Watch, err error) {
	if err := selector.Check(); err != nil {
		return nil, err
	}
	w := &Watch{selector: selector, names: names, chosen: map[string]uint64{}, unsure: map[string]bool{}}
	roots, err := Roots()
	if err != nil {
		return nil, err
	}
	at := roots[0]
	for _, root := range roots {
		if below, ok := strings.CutPrefix(w.selector.Glob, root+"/"); ok {
			at, w.selector.Glob = root, below
			break
		}
	}
	if w.Map, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_cgroups", Type: ebpf.Hash, KeySize: 8, ValueSize: 1, MaxEntries: Most, Flags: unix.BPF_F_NO_PREALLOC}); err != nil {
		return nil, fmt.Errorf("create the map of control groups: %w", err)
	}
	w.tree.found, w.tree.lost = w.decide, w.drop
	if err := w.tree.open(at); err != nil {
		w.Map.Close()
		return nil, err
	}
	return w, nil
}

// Refresh has seen, when it returns, all groups that were made before, and looks again for names.
func (w *Watch) Refresh() error {
	w.tree.mu.Lock()
	defer w.tree.mu.Unlock()
	err := w.tree.refresh()
	for group := range w.unsure {
		info, gone := os.Stat(filepath.Join(w.tree.root, group))
		if gone != nil {
			continue
		}
		err = errors.Join(err, w.decide(group, info.Sys().(*syscall.Stat_t).Ino))
	}
	return err
}

// Close ends the watch, and closes the map.
func (w *Watch) Close() {
	w.tree.close()
	w.Map.Close()
}

// decide adds a group to the map if it is selected.
func (w *Watch) decide(group string, id uint64) error {
	match, unsure := w.selector.Match(group, w.names)
	delete(w.unsure, group)
	switch {
	case !match && unsure:
		w.unsure[group] = true
		return nil
	case !match:
		return nil
	}
	w.chosen[group] = id
	if err := w.Map.Put(id, uint8(1)); err != nil {
		return fmt.Errorf("select control group %s: %w", group, err)
	}
	return nil
}

// drop removes a group that is gone.
func (w *Watch) drop(group string) {
	delete(w.unsure, group)
	if id, ok := w.chosen[group]; ok {
		delete(w.chosen, group)
		_ = w.Map.Delete(id) // no process is in it
	}
}
