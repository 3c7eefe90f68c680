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

// OpenIn opens the regular file at path as process pid sees it, in its root.
func OpenIn(pid int, path string) (*os.File, error) {
	root, err := hold(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/root", pid), 0)
	if err != nil {
		return nil, Error(pid, err)
	}
	defer root.close()
	f, err := hold(root.fd, strings.TrimPrefix(path, "/"), unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return nil, err
	}
	defer f.close()
	return f.open()
}

// NamespacePID returns the process's id as the process itself knows it.
func NamespacePID(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return pid
	}
	for line := range bytes.Lines(status) {
		if ids, ok := bytes.CutPrefix(line, []byte("NSpid:")); ok {
			if fields := bytes.Fields(ids); len(fields) > 0 {
				if n, err := strconv.Atoi(string(fields[len(fields)-1])); err == nil {
					return n
				}
			}
		}
	}
	return pid
}

// OwnedLike reports whether a file belongs to the user of process pid, to root or to
// this user, so that no stranger has written it.
func OwnedLike(file os.FileInfo, pid int) bool {
	st, ok := file.Sys().(*syscall.Stat_t)
	if !ok || st.Mode&0o022 != 0 {
		return false
	}
	if st.Uid == 0 || st.Uid == uint32(os.Geteuid()) {
		return true
	}
	var p unix.Stat_t
	return unix.Stat(fmt.Sprintf("/proc/%d", pid), &p) == nil && p.Uid == st.Uid
}
