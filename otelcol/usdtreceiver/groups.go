package usdtreceiver

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-usdt/usdt/internal/container"
)

// groups are the control groups that a target selects.
type groups struct {
	selector container.Selector
	dir      string // the directory of the one group, in place of a selector
	names    container.Names
	two, v1  []string // where the hierarchies that count processor time are mounted
	found    []groupTime
	rounds   int
}

// groupTime is a file with the processor time of a group, also of processes that have ended.
type groupTime struct {
	group string // its path in the hierarchy
	file  string
}

// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cpuacct.rst describe the files.
const (
	timeOf2  = "cpu.stat"
	timeOfV1 = "cpuacct.usage"
)

// newGroups returns the groups of a target, nil if it does not select by groups.
func newGroups(t *Target) *groups {
	g := &groups{selector: container.Selector{Container: t.Container, Pod: t.Pod}}
	g.two, _ = container.Roots() // without it there is version 1
	g.v1 = container.RootsV1("cpuacct")
	switch {
	case t.Container == "" && t.Pod == "" && t.Cgroup == "":
		return nil
	case container.IsGlob(t.Cgroup):
		g.selector.Glob = g.inHierarchy(t.Cgroup)
	case t.Cgroup != "":
		g.dir = g.inHierarchy(t.Cgroup)
	}
	return g
}

// inHierarchy returns a path from the root of its hierarchy.
func (g *groups) inHierarchy(path string) string {
	if whole, err := filepath.EvalSymlinks(path); err == nil { // as of /sys/fs/cgroup/cpu
		path = whole
	}
	longest, roots := "", slices.Clone(g.two)
	for _, controller := range []string{"pids", "memory", "devices", "freezer", "cpu", "cpuacct", "blkio"} {
		roots = append(roots, container.RootsV1(controller)...)
	}
	for _, root := range roots {
		if strings.HasPrefix(path, root+"/") && len(root) > len(longest) {
			longest = root
		}
	}
	return filepath.Join("/", strings.TrimPrefix(path, longest))
}

// selects reports whether a group, or one above it, is selected.
func (g *groups) selects(group string) bool {
	if g.dir != "" {
		return group == g.dir || strings.HasPrefix(group, g.dir+"/")
	}
	return g.selector.Within(group, g.names)
}

// has reports whether a process is in such a group.
func (g *groups) has(pid string) bool {
	text, _ := os.ReadFile("/proc/" + pid + "/cgroup") // it may have ended
	for line := range strings.Lines(string(text)) {    // HIERARCHY:CONTROLLER,...:PATH
		if words := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(words) == 3 && g.selects(words[2]) {
			return true
		}
	}
	return false
}

// maxLooked is how many groups of a hierarchy are looked at.
const maxLooked = 1 << 14

// find finds the groups, each without those below it.
func (g *groups) find() {
	g.found = nil
	for _, h := range []struct {
		roots []string
		file  string
	}{{g.two, timeOf2}, {g.v1, timeOfV1}} {
		if len(h.roots) == 0 {
			continue
		}
		root, looked := h.roots[0], 0
		if g.dir != "" {
			g.found = append(g.found, groupTime{g.dir, filepath.Join(root, g.dir, h.file)})
			continue
		}
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // groups come and go
			switch group := strings.TrimPrefix(path, root); {
			case err != nil || !d.IsDir() || group == "":
				return nil
			case looked >= maxLooked:
				return fs.SkipAll
			case g.selects(group):
				g.found = append(g.found, groupTime{group, filepath.Join(path, h.file)})
				return fs.SkipDir
			}
			looked++
			return nil
		})
	}
}

// times returns the processor time of each group until now, by its path. Where both versions have a group,
// its processes are in one of them.
func (g *groups) times() map[string]time.Duration {
	const often = 10 // rounds after which there may be others
	if g.rounds%often == 0 {
		g.find()
	}
	g.rounds++
	out := map[string]time.Duration{}
	for _, one := range g.found {
		if text, err := os.ReadFile(one.file); err == nil { // else the group is gone
			out[one.group] = max(out[one.group], timeIn(text))
		}
	}
	return out
}

// timeIn returns the processor time in the text of a group's file: nanoseconds, or a line in microseconds.
func timeIn(text []byte) time.Duration {
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if usec, ok := strings.CutPrefix(s.Text(), "usage_usec "); ok {
			n, _ := strconv.ParseInt(usec, 10, 64) // the kernel writes numbers
			return time.Duration(n) * time.Microsecond
		}
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Duration(n)
}
