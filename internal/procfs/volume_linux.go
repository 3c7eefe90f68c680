package procfs

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// local are the file systems (statfs(2), f_type) that answer without a server or another
// process. Overlays are not among them, since they may lie upon others.
var local = map[int64]bool{
	unix.BTRFS_SUPER_MAGIC: true, unix.EROFS_SUPER_MAGIC_V1: true, unix.EXT4_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
	unix.HUGETLBFS_MAGIC: true, unix.ISOFS_SUPER_MAGIC: true, unix.MSDOS_SUPER_MAGIC: true, unix.PROC_SUPER_MAGIC: true,
	unix.RAMFS_MAGIC: true, unix.SQUASHFS_MAGIC: true, unix.TMPFS_MAGIC: true, unix.XFS_SUPER_MAGIC: true,
}

// volume is a file system: its device or, where that is not known, a path that leads there.
type volume struct {
	device uint64
	path   string
}

// volumeOf returns the file system with a device that is not 0, or else that of the longest
// mount point with which path begins. It looks at none of them. Paths in /proc lead to other
// processes' files, and each is a volume of its own.
func volumeOf(device uint64, path string) volume {
	if device != 0 {
		return volume{device: device}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return volume{path: path}
	}
	longest, isProc := -1, false
	for line := range strings.Lines(string(mounts)) {
		// proc_pid_mountinfo(5): ID, parent, major:minor, root, mount point, …, "-", type
		fields := strings.Fields(line)
		dash := slices.Index(fields, "-")
		if len(fields) < 6 || dash < 0 || dash+1 >= len(fields) {
			continue
		}
		var major, minor uint32
		if _, err := fmt.Sscanf(fields[2], "%d:%d", &major, &minor); err != nil {
			continue
		}
		point := strings.TrimSuffix(escapes.Replace(fields[4]), "/")
		if len(point) >= longest && (path == point || strings.HasPrefix(path, point+"/")) {
			longest, device, isProc = len(point), unix.Mkdev(major, minor), fields[dash+1] == "proc"
		}
	}
	if device == 0 || isProc {
		return volume{path: path}
	}
	return volume{device: device}
}

// escapes are the escape sequences of mountinfo.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
