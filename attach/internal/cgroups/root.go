package cgroups

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/container"
)

// DirectoryV1 returns the whole path of a directory if that is a control group of version 1, and nothing if
// it is something else. Programs know the groups of some hierarchies only.
func DirectoryV1(dir string) (path string, err error) {
	if dir == "" {
		return "", nil
	}
	path, err = filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err != nil || unix.Statfs(path, &fs) != nil || fs.Type != unix.CGROUP_SUPER_MAGIC || unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return "", nil // whoever opens it says why
	}
	for _, c := range controllers {
		for _, root := range container.RootsV1(c.name) {
			if strings.HasPrefix(path, root+"/") {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is a control group of version 1 whose hierarchy has no controller by which processes are selected, such as pids, or is not mounted here whole", dir)
}
