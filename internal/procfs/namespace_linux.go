package procfs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenIn opens the regular file at path as process pid sees it, in its root. The last part of
// the path is no link, which might lead a privileged reader to what the process may not read.
func OpenIn(pid int, path string) (*File, error) {
	return ask(0, fmt.Sprintf("/proc/%d/root%s", pid, path), func() (*File, error) { return openIn(pid, path) }, lateFile)
}

func openIn(pid int, path string) (*File, error) {
	root, err := hold(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/root", pid), 0)
	if err != nil {
		return nil, Error(pid, err)
	}
	defer root.close()
	f, err := holdFlags(root.fd, strings.TrimPrefix(path, "/"), unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.open()
}

// NamespacePID returns the process's id as the process itself knows it.
func NamespacePID(pid int) int {
	ids := statusNumbers(pid, "NSpid:")
	if len(ids) == 0 {
		return pid
	}
	return ids[len(ids)-1]
}

// Stopped reports whether a signal has stopped a process.
func Stopped(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && bytes.Contains(status, []byte("\nState:\tT"))
}

// Parent returns the id of the process that a process is a child of; 0 if there is none.
func Parent(pid int) int {
	ids := statusNumbers(pid, "PPid:")
	if len(ids) == 0 {
		return 0
	}
	return ids[0]
}

// User returns the real user of a process; -1 if there is no such process.
func User(pid int) int {
	uids := statusNumbers(pid, "Uid:")
	if len(uids) == 0 {
		return -1
	}
	return uids[0]
}

// OwnedBy reports whether a file belongs to the user as whom process pid runs, and nobody
// else may write it: a stranger can neither have written it nor, by a hard link, chosen whose
// file is read.
func OwnedBy(file os.FileInfo, pid int) bool {
	st, ok := file.Sys().(*syscall.Stat_t)
	if !ok || st.Mode&0o022 != 0 {
		return false
	}
	uids := statusNumbers(pid, "Uid:") // real, effective, saved, of file systems
	return len(uids) == 4 && uint32(uids[1]) == st.Uid
}

// statusNumbers returns the numbers in a line of the process's status; nil if there are none.
func statusNumbers(pid int, key string) (numbers []int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(status) {
		fields, ok := bytes.CutPrefix(line, []byte(key))
		if !ok {
			continue
		}
		for _, field := range bytes.Fields(fields) {
			n, err := strconv.Atoi(string(field))
			if err != nil {
				return nil
			}
			numbers = append(numbers, n)
		}
		return numbers
	}
	return nil
}
