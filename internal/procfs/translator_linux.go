package procfs

import (
	"fmt"
	"os"
	"strings"
)

// Translator returns the name of the program that runs a process's code by translating it, see
// [TranslatorAt]; "" if the processor runs it, or the process cannot be read.
func Translator(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return TranslatorAt(strings.TrimSuffix(path, deleted))
}
