package sys

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PerfUprobe is the uprobe of a perf event that runs a BPF program.
type PerfUprobe struct {
	Path   string // as given by the event's maker
	Offset uint64
}

// bpfTaskFDQuery is BPF_TASK_FD_QUERY; fdUprobe and fdUretprobe are
// BPF_FD_TYPE_UPROBE and BPF_FD_TYPE_URETPROBE, include/uapi/linux/bpf.h.
const (
	bpfTaskFDQuery = 20
	fdUprobe       = 4
	fdUretprobe    = 5
)

// TaskPerfUprobe returns the uprobe of the perf event at descriptor fd of process
// pid, nil if the event is of another kind. The error is ENOENT if the event runs no
// BPF program, and EPERM without CAP_SYS_ADMIN.
func TaskPerfUprobe(pid, fd int) (*PerfUprobe, error) {
	path := make([]byte, unix.PathMax)
	attr := struct { // the member task_fd_query of union bpf_attr
		pid, fd, flags, bufLen uint32
		buf                    uint64
		progID, fdType         uint32
		offset, addr           uint64
	}{pid: uint32(pid), fd: uint32(fd), bufLen: uint32(len(path)), buf: uint64(uintptr(unsafe.Pointer(&path[0])))}
	// The kernel reads attr, and writes to it and to path, during the call only. Both
	// are on the heap or on this stack, which does not move meanwhile, and are kept
	// until after the call.
	var pinner runtime.Pinner
	pinner.Pin(&path[0])
	defer pinner.Unpin()
	_, _, errno := unix.Syscall(unix.SYS_BPF, bpfTaskFDQuery, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(path)
	if errno != 0 {
		return nil, errno
	}
	if attr.fdType != fdUprobe && attr.fdType != fdUretprobe {
		return nil, nil
	}
	return &PerfUprobe{Path: unix.ByteSliceToString(path), Offset: attr.offset}, nil
}
