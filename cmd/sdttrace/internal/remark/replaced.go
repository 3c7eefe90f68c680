package remark

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/printable"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/selector"
)

// Replaced reports the processes that run a program which was at a named path earlier, as they do after an
// upgrade until they are restarted: what is at the path now is another file, and its probes do not fire there.
func Replaced(stderr io.Writer, pids []int, exe string, probes []string) {
	if len(pids) > 0 {
		return // they are traced, whatever they run
	}
	type runs struct{ first, more int }
	paths := []string{exe}
	for _, probe := range probes {
		if sel, err := selector.Parse(probe); err == nil {
			path, _ := sel.LiteralPath()
			paths = append(paths, path)
		}
	}
	old := map[string]*runs{}
	for _, path := range paths {
		if real, err := procfs.EvalSymlinks(path); err == nil && strings.Contains(path, "/") {
			if real, err = filepath.Abs(real); err == nil {
				old[real+" (deleted)"] = &runs{}
			}
		}
	}
	if len(old) == 0 {
		return
	}
	pids, _ = procfs.PIDs() // nobody misses what cannot be listed
	here, _ := os.Readlink("/proc/self/ns/mnt")
	for _, pid := range pids {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		r := old[path]
		if err != nil || r == nil {
			continue
		}
		if there, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid)); err != nil || there != here {
			continue // its path is one of another root
		}
		if r.more++; r.first == 0 {
			r.first, r.more = pid, 0
		}
	}
	for _, path := range slices.Sorted(maps.Keys(old)) {
		r := old[path]
		if r.first == 0 {
			continue
		}
		others := ""
		if r.more > 0 {
			others = fmt.Sprintf(" (and %d more)", r.more)
		}
		fmt.Fprintf(stderr, "sdttrace: process %d%s runs the file that was at %s before it was replaced, and is not traced: -p %d traces it\n", r.first, others, printable.String(strings.TrimSuffix(path, " (deleted)")), r.first)
	}
}
