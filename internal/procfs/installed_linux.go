package procfs

import (
	"fmt"
	"os"
	"syscall"
)

// Installed reports whether only root and this user can change the open file, and its
// path is in this mount namespace: no container's file, and none that a stranger
// wrote.
func Installed(f Opened) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return err == nil && Leads(path, info)
}
