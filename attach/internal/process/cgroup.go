package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Cgroup is a control group of version 2; see cgroups(7).
type Cgroup struct {
	ID    uint64 // by which the kernel knows it
	Level int    // 0 for the root
	path  string // from there, as /proc/PID/cgroup has it
}

// rootCgroup is the id of the root, which kernfs gives it (fs/kernfs/dir.c, kernfs_create_root).
const rootCgroup = 1

// OpenCgroup returns the control group whose directory is at a path.
func OpenCgroup(dir string) (*Cgroup, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	g := &Cgroup{}
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		var fs unix.Statfs_t
		if err := errors.Join(unix.Stat(at, &st), unix.Statfs(at, &fs)); err != nil {
			return nil, fmt.Errorf("look at %s: %w", at, err)
		}
		switch {
		case fs.Type == unix.CGROUP2_SUPER_MAGIC && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		case at == dir:
			return nil, fmt.Errorf("%s is no control group of version 2, by which the kernel can select processes", dir)
		default:
			return nil, fmt.Errorf("the root of the hierarchy of %s is not mounted here, as in a container: the kernel needs to know how far below it the group is", dir)
		}
		if at == dir {
			g.ID = st.Ino
		}
		if st.Ino == rootCgroup {
			g.path = strings.TrimPrefix(dir, at)
			g.Level = strings.Count(g.path, "/")
			return g, nil
		}
	}
}

// Has reports whether a process is in the group, or below it.
func (g *Cgroup) Has(pid int) (bool, error) {
	lines, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false, err
	}
	for s := bufio.NewScanner(bytes.NewReader(lines)); s.Scan(); {
		if path, ok := strings.CutPrefix(s.Text(), "0::"); ok {
			return strings.HasPrefix(path+"/", g.path+"/"), nil
		}
	}
	return false, nil
}
