package procfs

import (
	"bytes"
	"errors"
	"fmt"
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

// StartTime returns when process pid was started, in ticks since the machine was. With
// the PID, that identifies a process.
func StartTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, Error(pid, err)
	}
	// The second field, the thread's name, is in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("process %d: its stat has %d fields", pid, len(fields)+2)
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}
