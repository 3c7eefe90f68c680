package load

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/attach/internal/cgroups"
	"github.com/go-usdt/usdt/attach/internal/process"
	"github.com/go-usdt/usdt/attach/internal/selected"
	"github.com/go-usdt/usdt/internal/container"
	"github.com/go-usdt/usdt/internal/kernel"
	"github.com/go-usdt/usdt/internal/procfs"
)

// selection selects processes.
type selection struct {
	selected.Processes
	path   string         // of the executable; "" for any
	last   exeFile        // in exe
	group  string         // the path of the control group; "" for any
	lastIn groupID        // in Cgroup
	groups *cgroups.Watch // of containers; nil for any
}

// exeFile identifies an executable's inode by the kernel's numbers; zero means
// none.
type exeFile struct{ Device, Inode uint64 }

// groupID identifies a control group of version 2; zero means none.
type groupID struct{ ID, Level uint64 }

// exeAt returns the file that a path leads to.
func exeAt(path string) (exeFile, error) {
	info, err := procfs.Stat(path)
	if err != nil {
		return exeFile{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return exeFile{}, fmt.Errorf("%s is not a regular file", path)
	}
	id := procfs.ID{Dev: st.Dev, Inode: st.Ino}
	if f, err := procfs.OpenFile(path); err == nil { // which may be forbidden
		if mapped, err := procfs.MappedID(f); err == nil {
			id = mapped
		}
		f.Close()
	}
	// include/linux/kdev_t.h, MKDEV
	return exeFile{uint64(unix.Major(id.Dev))<<20 | uint64(unix.Minor(id.Dev)), id.Inode}, nil
}

// SelectionError says which of the properties of processes, named as in Selecting, cannot be
// selected by.
type SelectionError struct {
	Name string
	Err  error
}

func (e *SelectionError) Error() string { return e.Err.Error() }
func (e *SelectionError) Unwrap() error { return e.Err }

// Selecting says by what processes are selected.
type Selecting struct {
	Comm, Exe, Cgroup string
	Groups            *container.Selector // nil for any
	Await             bool                // Exe may come to exist later
}

// newSelection returns nil if all processes are selected.
func newSelection(o *Selecting) (_ *selection, err error) {
	if o.Comm == "" && o.Exe == "" && o.Cgroup == "" && o.Groups == nil {
		return nil, nil
	}
	s := &selection{Processes: selected.Processes{Comm: o.Comm, At: map[string]int32{}}, path: o.Exe}
	groups := o.Groups
	if v1, err := cgroups.DirectoryV1(o.Cgroup); err != nil {
		return nil, &SelectionError{"Cgroup", err}
	} else if v1 != "" {
		groups = &container.Selector{Glob: v1}
	} else {
		s.group = o.Cgroup
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.group != "" {
		s.Cgroup, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_cgroup", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
		if err != nil {
			return nil, fmt.Errorf("create the map of the control group: %w", err)
		}
		if err := s.refreshGroup(); err != nil {
			return nil, &SelectionError{"Cgroup", err}
		}
	}
	if groups != nil {
		if s.groups, err = cgroups.Open(*groups, container.Names{}); err != nil {
			return nil, &SelectionError{groupsOption(groups), err}
		}
		s.Cgroups = s.groups
	}
	if o.Comm == "" && o.Exe == "" {
		return s, nil
	}
	if o.Exe != "" {
		s.Exe, err = ebpf.NewMap(&ebpf.MapSpec{Name: "usdt_exe", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
		if err != nil {
			return nil, fmt.Errorf("create the map of the executable: %w", err)
		}
		if err := s.refreshExe(); err != nil && !(o.Await && errors.Is(err, os.ErrNotExist)) {
			return nil, &SelectionError{"Exe", err}
		}
	}
	types, err := kernel.Types()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's types, to select processes: %w", err)
	}
	for _, m := range [][2]string{
		{"task_struct", "group_leader"}, {"task_struct", "comm"}, {"task_struct", "mm"},
		{"mm_struct", "exe_file"}, {"file", "f_inode"}, {"inode", "i_ino"}, {"inode", "i_sb"}, {"super_block", "s_dev"},
	} {
		offset, err := kernel.MemberOffset(types, m[0], m[1])
		if err != nil {
			return nil, err
		}
		s.At[m[1]] = int32(offset)
	}
	return s, nil
}

// groupsOption returns the option that a selector of groups comes from.
func groupsOption(s *container.Selector) string {
	switch {
	case s.Container != "":
		return "Container"
	case s.Pod != "":
		return "Pod"
	}
	return "Cgroup"
}

// Refresh selects the file that the path leads to now, since a file may be built or
// installed during tracing, the control group at its path, since a service that starts again has
// another one, and the control groups that have been made. A nil selection has none.
func (s *selection) Refresh() error {
	if s == nil {
		return nil
	}
	if s.groups != nil {
		if err := s.groups.Refresh(); err != nil {
			return err
		}
	}
	if err := s.refreshGroup(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return s.refreshExe()
}

// refreshGroup selects the control group that is at the path now.
func (s *selection) refreshGroup() error {
	if s.Cgroup == nil {
		return nil
	}
	group, err := process.OpenCgroup(s.group)
	if err != nil {
		return err
	}
	id := groupID{group.ID, uint64(group.Level)}
	if id == s.lastIn {
		return nil
	}
	if err := s.Cgroup.Put(uint32(0), id); err != nil {
		return fmt.Errorf("select the control group: %w", err)
	}
	s.lastIn = id
	return nil
}

// refreshExe selects the executable that is at the path now.
func (s *selection) refreshExe() error {
	if s.Exe == nil {
		return nil
	}
	exe, err := exeAt(s.path)
	if err != nil || exe == s.last {
		return err
	}
	if err := s.Exe.Put(uint32(0), exe); err != nil {
		return fmt.Errorf("select the executable: %w", err)
	}
	s.last = exe
	return nil
}

func (s *selection) Close() {
	if s == nil {
		return
	}
	if s.Cgroup != nil {
		s.Cgroup.Close()
	}
	if s.Exe != nil {
		s.Exe.Close()
	}
	if s.groups != nil {
		s.groups.Close()
	}
}
