package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Check returns an error if pid is the id of a thread other than the first of its
// process: the kernel would refuse it or, with perf events, trace only that
// thread.
func Check(pid int) error {
	if pid <= 0 {
		return fmt.Errorf("process id %d is not positive", pid)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil // reading the process will say what is wrong
	}
	for line := range strings.Lines(string(status)) {
		text, ok := strings.CutPrefix(line, "Tgid:")
		if !ok {
			continue
		}
		if leader, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && leader != pid {
			return fmt.Errorf("%d is a thread of process %d: trace the process", pid, leader)
		}
	}
	return nil
}
