package cost

import (
	"context"
	"debug/elf"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/cmd/sdttrace/internal/bench"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/notes"
	"github.com/go-usdt/usdt/reader"
)

// around is how much of the code before and behind a site is read.
const around = 4096

// Traps measures what a hit costs its program beside sdttrace's programs, at each kind of site
// that is attached to and that is wanted. It returns the shortest time and the longest.
func Traps(ctx context.Context, traps *bench.Traps, plan attach.Plan, wanted func(*reader.Probe) bool) (least, most time.Duration, err error) {
	for i := range plan {
		s := &plan[i]
		if !s.Attached || s.Local || s.Probe.Kind.InKernel() || !wanted(&s.Probe) {
			continue
		}
		kind, code, at := codeAt(s)
		d, err := traps.Of(ctx, bench.Trapped{
			Kind: kind, Instruction: code[at:], Return: s.Probe.Kind == reader.Uretprobe && !s.Probe.AtRET, Loop: s.Probe.Machine == elf.EM_X86_64 && loops(code, at),
		})
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

// codeAt returns the kind of a site and its code. A typed probe says itself of which kind it is: its
// file, which may have no name, is gone with its process. The code of others is read from their files,
// where no breakpoint is; it is nil if it cannot be read. The site is at code[at].
func codeAt(s *attach.Site) (kind notes.SiteKind, code []byte, at int) {
	if t := s.Probe.Type; t != nil && s.Probe.Kind == reader.USDT {
		return t.Record.Site, nil, 0
	}
	f, err := procfs.OpenFile(s.Path)
	if err != nil {
		return notes.SiteOther, nil, 0
	}
	defer f.Close()
	at = int(min(s.Offset, around))
	code = make([]byte, at+around)
	n, _ := f.ReadAt(code, int64(s.Offset)-int64(at)) // less at the end of the file
	if n < at {
		return notes.SiteOther, nil, 0
	}
	code = code[:n]
	return notes.SiteKindOf(notes.Machine(s.Probe.Machine), s.Probe.ByteOrder, code[at:]), code, at
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
