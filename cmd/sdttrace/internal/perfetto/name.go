package perfetto

import (
	"fmt"
	"os"
	"strings"
)

// NameOfProcess returns the name of a process's first thread, "" if it has ended.
func NameOfProcess(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(name), "\n")
}
