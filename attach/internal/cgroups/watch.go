package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

	layout *layout // nil unless groups of version 1 count
	two    bool    // whether groups of version 2 count
	parts  []*part
}

// part is what is selected of one hierarchy.
type part struct {
	ids      *ebpf.Map
	selector container.Selector
	names    container.Names
	mark     uint64 // in ids
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
	hierarchies, selector, err := places(selector)
	if err != nil {
		return nil, err
	}
	w := &Watch{}
	if w.Map, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_cgroups", Type: ebpf.Hash, KeySize: 8, ValueSize: 1, MaxEntries: Most, Flags: unix.BPF_F_NO_PREALLOC}); err != nil {
		return nil, fmt.Errorf("create the map of control groups: %w", err)
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	for _, h := range hierarchies {
		p := &part{ids: w.Map, selector: selector, names: names, chosen: map[string]uint64{}, unsure: map[string]bool{}}
		w.two = w.two || h.v1 < 0
		if h.v1 >= 0 {
			p.mark = ofV1
			if w.layout, err = newLayout(h.v1); err != nil {
				return nil, err
			}
		}
		p.tree.found, p.tree.lost = p.decide, p.drop
		if err := p.tree.open(h.root); err != nil {
			return nil, err
		}
		w.parts = append(w.parts, p)
	}
	return w, nil
}

// hierarchy is one in which groups are selected.
type hierarchy struct {
	root string
	v1   int // an index of controllers, -1 for version 2
}

// places returns the hierarchies that have the groups of a selector, whose pattern may begin with where one
// is mounted, as plain names may: then it is that one, and the pattern that is returned is of paths in it.
func places(selector container.Selector) (at []hierarchy, within container.Selector, err error) {
	roots, err := container.Roots()
	for i, root := range roots {
		if below, ok := container.Below(root, selector.Glob); ok && selector.Glob != "" {
			selector.Glob = below
			return []hierarchy{{root, -1}}, selector, nil
		}
		if i == 0 {
			at = append(at, hierarchy{root, -1})
		}
	}
	for v1, c := range controllers {
		for i, root := range container.RootsV1(c.name) {
			if below, ok := container.Below(root, selector.Glob); ok && selector.Glob != "" {
				selector.Glob = below
				return []hierarchy{{root, v1}}, selector, nil
			}
			if i == 0 && v1 == controller() {
				at = append(at, hierarchy{root, v1})
			}
		}
	}
	if len(at) > 0 {
		err = nil
	}
	return at, selector, err
}

// Has reports whether a process is in a group that is selected now.
func Has(selector container.Selector, pid int) (bool, error) {
	lines, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false, err
	}
	hierarchies, selector, err := places(selector)
	if err != nil {
		return false, err
	}
	two, v1 := false, controller()
	for _, h := range hierarchies {
		if two = two || h.v1 < 0; h.v1 >= 0 {
			v1 = h.v1
		}
	}
	group, in := "/", -1                             // of version 2, unless that is the root
	for line := range strings.Lines(string(lines)) { // HIERARCHY:CONTROLLER,...:PATH
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(words) < 3:
		case words[0] == "0" && words[2] != "/" && two:
			group, in = words[2], -1
		case group == "/" && v1 >= 0 && slices.Contains(strings.Split(words[1], ","), controllers[v1].name):
			group, in = words[2], v1
		}
	}
	return slices.ContainsFunc(hierarchies, func(h hierarchy) bool { return h.v1 == in }) && selector.Within(group, container.Names{}), nil
}

// Refresh has seen, when it returns, all groups that were made before, and looks again for names.
func (w *Watch) Refresh() (err error) {
	for _, p := range w.parts {
		err = errors.Join(err, p.refresh())
	}
	return err
}

func (p *part) refresh() error {
	p.tree.mu.Lock()
	defer p.tree.mu.Unlock()
	err := p.tree.refresh()
	for group := range p.unsure {
		info, gone := os.Stat(filepath.Join(p.tree.root, group))
		if gone != nil {
			continue
		}
		err = errors.Join(err, p.decide(group, info.Sys().(*syscall.Stat_t).Ino))
	}
	return err
}

// Close ends the watch, and closes the map.
func (w *Watch) Close() {
	for _, p := range w.parts {
		p.tree.close()
	}
	w.Map.Close()
}

// decide adds a group to the map if it is selected.
func (p *part) decide(group string, id uint64) error {
	match, unsure := p.selector.Match(group, p.names)
	delete(p.unsure, group)
	switch {
	case !match && unsure:
		p.unsure[group] = true
		return nil
	case !match:
		return nil
	}
	id |= p.mark
	p.chosen[group] = id
	if err := p.ids.Put(id, uint8(1)); err != nil {
		return fmt.Errorf("select control group %s: %w", group, err)
	}
	return nil
}

// drop removes a group that is gone.
func (p *part) drop(group string) {
	delete(p.unsure, group)
	if id, ok := p.chosen[group]; ok {
		delete(p.chosen, group)
		_ = p.ids.Delete(id) // no process is in it
	}
}
