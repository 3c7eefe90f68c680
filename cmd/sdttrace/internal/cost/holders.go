package cost

import (
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/internal/procfs"
)

// CPU returns the CPU time that each process has taken which has mapped a file of the plan: of pids or,
// if there are none, of all.
func CPU(pids []int, plan attach.Plan) map[int]time.Duration {
	if len(pids) == 0 {
		pids, _ = procfs.PIDs() // without /proc there is no CPU time either
	}
	times := map[int]time.Duration{}
	for _, pid := range holders(plan, pids) {
		if t, err := processTime(pid); err == nil {
			times[pid] = t
		}
	}
	return times
}

// holders returns which of all processes have mapped a file of the plan to execute it. Files are
// compared by inode and name: on some file systems, such as overlays, the device in a mapping is
// not that of the file.
func holders(plan attach.Plan, all []int) (pids []int) {
	type file struct {
		inode uint64
		name  string
	}
	files := map[file]bool{}
	for i := range plan {
		info, err := procfs.Stat(plan[i].Path)
		if !plan[i].Attached || err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			files[file{stat.Ino, filepath.Base(plan[i].Probe.Path)}] = true
		}
	}
	for _, pid := range all {
		maps, err := procfs.Maps(pid)
		if err != nil {
			continue
		}
		for _, m := range maps {
			if m.Exec && files[file{m.Inode, filepath.Base(strings.TrimSuffix(m.Path, " (deleted)"))}] {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
