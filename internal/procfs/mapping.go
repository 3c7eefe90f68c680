package procfs

import "errors"

// Mapping is a part of a process's address space.
type Mapping struct {
	Start, End                uint64
	Read, Write, Exec, Shared bool
	Offset                    uint64 // of Start in the file
	Dev                       uint64 // as in syscall.Stat_t
	Inode                     uint64 // 0 for anonymous memory
	// Path is as the kernel printed it: from the root of the process, followed by "
	// (deleted)" if the file no longer has a name, or the name of special memory in
	// brackets.
	Path string
}

// Size returns the length in bytes.
func (m *Mapping) Size() uint64 { return m.End - m.Start }

// ID identifies a file.
type ID struct{ Dev, Inode uint64 }

// Object is a file that a process has mapped with execute permission.
type Object struct {
	ID   ID
	Path string    // as in its mappings, without " (deleted)"
	Maps []Mapping // all of its mappings, by address
	raw  string
	pid  int
}

// ErrUnmapped is wrapped by the error of [Object.Gone] if the process still exists.
var ErrUnmapped = errors.New("is not mapped any more")

// ErrNotRegular is wrapped by the error for a path that leads to a directory, a
// device, a FIFO or a socket.
var ErrNotRegular = errors.New("not a regular file")
