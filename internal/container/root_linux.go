package container

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// RootInode is the inode of the root of the whole hierarchy (fs/kernfs/dir.c, kernfs_create_root).
const RootInode = 1

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
	return unix.Stat(dir, &st) == nil && unix.Statfs(dir, &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC && st.Ino == RootInode
}

// RootsV1 returns where the hierarchy of version 1 that has a controller is mounted whole.
func RootsV1(controller string) (roots []string) {
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
		if unix.Stat(at[4], &st) == nil && st.Ino == RootInode {
			roots = append(roots, at[4])
		}
	}
	return roots
}
