package reader

import (
	"fmt"
	"os"
	"syscall"

	"github.com/go-usdt/usdt/internal/procfs"
)

// isInstalled reports whether only root and this user can change the file, and its
// path is of this mount namespace: no container's file, and none that a stranger
// wrote.
func (f *File) isInstalled() bool {
	r, ok := f.reader.(*os.File)
	if !ok || f.info == nil {
		return false
	}
	st, ok := f.info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return false
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	return err == nil && procfs.Leads(path, f.info)
}
