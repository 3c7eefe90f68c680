package procfs

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Copied returns the path of a file whose code process pid runs from a copy in anonymous
// memory, "" if there is none: such as node with --use-largepages, which the kernel serves
// with larger pages there. No uprobe fires in the copy.
func Copied(pid int) string {
	maps, err := Maps(pid)
	if err != nil {
		return ""
	}
	return CopiedIn(pid, maps)
}

// CopiedIn is Copied for who has the process's maps.
func CopiedIn(pid int, maps []Mapping) string {
	if !slices.ContainsFunc(maps, func(m Mapping) bool { return m.copy() }) {
		return ""
	}
	if auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid)); err == nil {
		for _, word := range []int{8, 4} { // in 64-bit processes, and in others
			entry := Auxiliary(auxv, word, EntryPoint)
			for i := range maps {
				if m := &maps[i]; m.Start <= entry && entry < m.End && m.copy() {
					path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
					return strings.TrimSuffix(path, deleted)
				}
			}
		}
	}
	return copied(maps)
}

// copied returns the path of a file that has code missing between two of its mappings, and
// other code in its place.
func copied(maps []Mapping) string {
	for i := range maps {
		before, end := &maps[i], i+1
		for ; end < len(maps) && maps[end].copy() && maps[end].Start == maps[end-1].End; end++ {
		}
		if end == i+1 || end == len(maps) || before.Inode == 0 || before.copy() {
			continue
		}
		after := &maps[end]
		if after.Start == maps[end-1].End && before.Dev == after.Dev && before.Inode == after.Inode {
			return strings.TrimSuffix(before.Path, deleted)
		}
	}
	return ""
}

// copy reports whether the mapping may be of copied code: memory of huge pages has an
// inode of its own.
func (m *Mapping) copy() bool {
	anonymous := m.Inode == 0 && (m.Path == "" || strings.HasPrefix(m.Path, "[anon"))
	return m.Exec && (anonymous || strings.HasPrefix(m.Path, "/anon_hugepage"))
}
