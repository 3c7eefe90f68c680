package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

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
