package cgroups

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// rootInode is the inode of the root of the whole hierarchy (fs/kernfs/dir.c, kernfs_create_root).
const rootInode = 1

// Roots returns where the hierarchy of version 2 is mounted whole, which may be several places. A container that shares the
// machine's processes sees it in the root directory of the first one.
func Roots() (roots []string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for s := bufio.NewScanner(bytes.NewReader(mounts)); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		if at := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(at) >= 5 && whole(at[4]) {
			roots = append(roots, at[4])
		}
	}
	for _, at := range []string{"/proc/1/root/sys/fs/cgroup", "/proc/1/root/sys/fs/cgroup/unified"} {
		if len(roots) == 0 && whole(at) {
			roots = append(roots, at)
		}
	}
	if len(roots) > 0 {
		return roots, nil
	}
	return nil, errors.New("no hierarchy of control groups is mounted here whole: the kernel selects processes by those only")
}

func whole(dir string) bool {
	var st unix.Stat_t
	var fs unix.Statfs_t
	return unix.Stat(dir, &st) == nil && unix.Statfs(dir, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC && st.Ino == rootInode
}

// rootsV1 returns where the hierarchy of version 1 that has a controller is mounted whole.
func rootsV1(controller string) (roots []string) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for s := bufio.NewScanner(bytes.NewReader(mounts)); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		at, of := strings.Fields(before), strings.Fields(after)
		if len(at) < 5 || len(of) < 3 || of[0] != "cgroup" || !slices.Contains(strings.Split(of[2], ","), controller) {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(at[4], &st) == nil && st.Ino == rootInode {
			roots = append(roots, at[4])
		}
	}
	return roots
}

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
		for _, root := range rootsV1(c.name) {
			if strings.HasPrefix(path, root+"/") {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s is a control group of version 1 whose hierarchy has no controller by which processes are selected, such as pids, or is not mounted here whole", dir)
}
