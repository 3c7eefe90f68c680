// Package cgroup selects the processes of a control group.
package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/cmd/sdttrace/internal/session"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/total"
)

// Group selects the processes of a control group and of those below it.
type Group struct {
	hierarchy
	Dir  string // in the file system; empty for a pattern
	Path string // as /proc/PID/cgroup has it
	// Pattern says that Path names several groups, by which only the kernel selects.
	Pattern bool
	known   map[int]bool
	before  map[int]bool // known of the interval before
	Missed  uint64       // events of processes that had ended
}

// hierarchy is a mounted hierarchy of control groups; see cgroups(7).
type hierarchy struct {
	mount, root string
	controllers []string // of version 1, which may be name=NAME; version 2 has none
}

// hierarchies returns the hierarchies that are mounted, the one of version 2 first;
// see proc_pid_mountinfo(5).
func hierarchies(mountinfo []byte) (all []hierarchy) {
	for s := bufio.NewScanner(bytes.NewReader(mountinfo)); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		mount, file := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(file) < 3 {
			continue
		}
		h := hierarchy{mount: mount[4], root: mount[3]}
		switch file[0] {
		case "cgroup2":
			all = slices.Insert(all, 0, h)
		case "cgroup":
			h.controllers = strings.Split(file[2], ",")
			all = append(all, h)
		}
	}
	return all
}

// Open returns the control group of a name; nil if that is empty. waits says that the user may ask for one
// that is made later, and later that the user does.
func Open(name string, waits, later bool) (*Group, error) {
	switch {
	case name == "":
		return nil, nil
	case container.IsGlob(name):
		return &Group{Path: name, Pattern: true}, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("--cgroup: %w", err)
	}
	all := hierarchies(mounts)
	if len(all) == 0 {
		return nil, errors.New("--cgroup: no hierarchy of control groups is mounted here")
	}
	for _, h := range all {
		below, _ := container.Below(h.mount, name)
		if info, err := os.Stat(path.Join(h.mount, below)); err == nil && info.IsDir() {
			return newGroup(h, path.Join(h.mount, below), path.Join("/", h.root, below)), nil
		}
	}
	if later {
		return &Group{Path: only(name), Pattern: true}, nil
	}
	hint := ""
	if waits {
		hint = "; --wait waits for it"
	}
	return nil, fmt.Errorf("--cgroup: there is no control group %s%s%s", name, instead(all, name), hint)
}

// only returns the pattern that one path matches.
func only(name string) string {
	name = strings.ReplaceAll(path.Clean(name), `\`, `\\`)
	_, size := utf8.DecodeLastRuneInString(name)
	return name[:len(name)-size] + `[\` + name[len(name)-size:] + "]"
}

func newGroup(h hierarchy, dir, path string) *Group {
	return &Group{hierarchy: h, Dir: dir, Path: path, known: map[int]bool{}}
}

// selecting are the controllers of version 1 by whose hierarchies sessions select.
var selecting = []string{"pids", "memory", "devices", "freezer", "cpu", "blkio"}

// InKernel reports whether the kernel can select by the group: one whose whole hierarchy is mounted
// here, as its root's inode number says (fs/kernfs/dir.c), of version 2 or of one of these controllers.
func (c *Group) InKernel() bool {
	if c.Pattern {
		return true
	}
	var st unix.Stat_t
	selects := c.controllers == nil || slices.ContainsFunc(c.controllers, func(name string) bool { return slices.Contains(selecting, name) })
	return selects && unix.Stat(c.mount, &st) == nil && st.Ino == 1
}

// Again returns a cgroup for another reader.
func (c *Group) Again() *Group { return newGroup(c.hierarchy, c.Dir, c.Path) }

// Has reports whether a process, which has fired, is in the group. It asks the kernel
// once while the process fires in each interval.
func (c *Group) Has(pid int, events uint64) bool {
	in, ok := c.known[pid]
	if !ok {
		if in, ok = c.before[pid]; !ok {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
			if err != nil {
				c.Missed += events
				return false
			}
			in = c.contains(text)
		}
		c.known[pid] = in
	}
	return in
}

// contains reports whether the line ID:CONTROLLERS:PATH of the hierarchy names the
// group.
func (c *Group) contains(lines []byte) bool {
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); {
		parts := strings.SplitN(s.Text(), ":", 3)
		if len(parts) == 3 && c.is(parts[1]) {
			return c.Path == "/" || parts[2] == c.Path || strings.HasPrefix(parts[2], c.Path+"/")
		}
	}
	return false
}

// is reports whether controllers, separated by commas, are the hierarchy's.
func (h *hierarchy) is(controllers string) bool {
	if controllers == "" {
		return h.controllers == nil
	}
	return slices.Contains(h.controllers, strings.Split(controllers, ",")[0])
}

// forget forgets processes that have not fired for an interval: their ids may become
// others'.
func (c *Group) forget() { c.before, c.known = c.known, map[int]bool{} }

// Selects returns those groups, by probe and pid, that belong to processes of the group.
func (c *Group) Selects(groups []total.Group) (out []total.Group) {
	for i := range groups {
		if c.Has(PIDOf(&groups[i]), groups[i].Count) {
			out = append(out, groups[i])
		}
	}
	c.forget()
	return out
}

// PIDOf returns the process of a group by probe and pid; 0 if it has no id here.
func PIDOf(g *total.Group) int {
	switch pid := g.By[1].Value.(type) {
	case uint64:
		return int(pid)
	case int64:
		return int(pid)
	}
	return 0
}

// Aggregate is an aggregate by probe and pid of which only the processes of a control group are
// read.
type Aggregate struct {
	session.Aggregate
	Group *Group
}

func (a *Aggregate) Read() ([]total.Group, error) {
	groups, err := a.Aggregate.Read()
	return a.Group.Selects(groups), err
}
