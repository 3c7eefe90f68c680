package cost

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/bench"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/reader"
)

// instructionSize is enough to know an instruction by.
const instructionSize = 16

// Traps measures what a hit costs its program beside sdttrace's programs, at each kind of site
// that is attached to and that is wanted. It returns the shortest time and the longest.
func Traps(ctx context.Context, traps *bench.Traps, plan attach.Plan, wanted func(*reader.Probe) bool) (least, most time.Duration, err error) {
	for i := range plan {
		s := &plan[i]
		if !s.Attached || s.Local || !wanted(&s.Probe) {
			continue
		}
		d, err := traps.Of(ctx, instructionAt(s), s.Probe.Kind == reader.Uretprobe)
		if err != nil {
			return 0, 0, err
		}
		if least == 0 || d < least {
			least = d
		}
		most = max(most, d)
	}
	return least, most, nil
}

// instructionAt reads the site's code from its file, where no breakpoint is; nil if it cannot.
func instructionAt(s *attach.Site) []byte {
	f, err := procfs.OpenFile(s.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	code := make([]byte, instructionSize)
	n, _ := f.ReadAt(code, int64(s.Offset)) // less at the end of the file
	return code[:n]
}

// holders returns the processes that have mapped a file of the plan to execute it. Files are
// compared by inode and name: on some file systems, such as overlays, the device in a mapping is
// not that of the file.
func holders(plan attach.Plan) (pids []int) {
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
	all, _ := procfs.PIDs() // without /proc there is no CPU time either
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
