package local

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/rendezvous"
)

// offers finds the processes of the machine that offer their probes to this one.
type offers struct {
	selects func(pid int) (bool, error)
	procs   *process.Set // the processes that do
	others  map[int]*look
}

// look says when a process that offered nothing is looked at again. Young processes
// are looked at more often: to look takes a system call for each descriptor.
type look struct{ first, next time.Time }

const maxLook = 10 * time.Second // between two looks at a process

func newOffers(selects func(pid int) (bool, error)) *offers {
	return &offers{selects: selects, procs: &process.Set{}, others: map[int]*look{}}
}

// scan adds the processes that have begun to offer their probes, and drops processes
// that have ended.
func (f *offers) scan() (ended []int, err error) {
	ended = f.procs.DropEnded()
	pids, err := procfs.PIDs()
	if err != nil {
		return ended, err
	}
	now, uid := time.Now(), os.Geteuid()
	seen := make(map[int]*look, len(f.others))
	for _, pid := range pids {
		if f.procs.Has(pid) {
			continue
		}
		known := f.others[pid]
		if known == nil {
			known = &look{first: now, next: now}
		}
		if seen[pid] = known; now.Before(known.next) {
			continue
		}
		known.next = now.Add(min(now.Sub(known.first)/4, maxLook))
		if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil || uid != 0 && int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			continue
		}
		if selected, err := f.selects(pid); err != nil || !selected {
			continue
		}
		if offered, err := rendezvous.Offered(pid); err != nil || !offered {
			continue
		}
		if err := f.procs.Add(pid); err != nil && !errors.Is(err, os.ErrNotExist) {
			return ended, err
		}
	}
	f.others = seen
	return ended, nil
}
