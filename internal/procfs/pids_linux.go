package procfs

import (
	"errors"
	"os"
	"slices"
	"strconv"
)

// ErrNoProc says that /proc shows no process, not even this one.
var ErrNoProc = errors.New("/proc is not mounted, and there processes are found: mount -t proc proc /proc")

// PIDs returns the processes of the machine, by id. If there are none, the error is ErrNoProc.
func PIDs() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	if err == nil && len(pids) == 0 {
		err = ErrNoProc
	}
	slices.Sort(pids)
	return pids, err
}
