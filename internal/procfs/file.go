package procfs

import "os"

// File is an open file. A file system that may depend on others, such as a server or another
// process, is asked with a deadline, see [ErrSilent].
type File struct {
	file   *os.File
	device uint64
	fsType int64 // statfs(2), f_type; 0 if it is not known
	// asked says that the file system is asked beside the caller. Others answer by themselves.
	asked bool
}

// Opened is what a [File] and an [os.File] say of an open file.
type Opened interface {
	Stat() (os.FileInfo, error)
	Fd() uintptr
}

// Name returns the path by which the file was opened.
func (f *File) Name() string { return f.file.Name() }

// Fd returns the file's descriptor, which is valid until Close.
func (f *File) Fd() uintptr { return f.file.Fd() }

// On reports whether the file is on a file system of a type (statfs(2), f_type).
func (f *File) On(fsType int64) bool { return f.fsType == fsType }

// Stat returns what the file system knows of the file.
func (f *File) Stat() (os.FileInfo, error) {
	if !f.asked {
		return f.file.Stat()
	}
	return ask(f.device, f.Name(), f.file.Stat, nil)
}

// ReadAt reads as [os.File.ReadAt] does.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if !f.asked {
		return f.file.ReadAt(b, off)
	}
	return f.readInto(b, func(own []byte) (int, error) { return f.file.ReadAt(own, off) })
}

// Read reads as [os.File.Read] does.
func (f *File) Read(b []byte) (int, error) {
	if !f.asked {
		return f.file.Read(b)
	}
	return f.readInto(b, f.file.Read)
}

// readInto reads into memory of its own, since a late answer must not reach the caller's.
func (f *File) readInto(b []byte, read func([]byte) (int, error)) (int, error) {
	type answer struct {
		data []byte
		err  error
	}
	own := make([]byte, len(b))
	a, err := ask(f.device, f.Name(), func() (answer, error) {
		n, err := read(own)
		return answer{own[:n], err}, nil
	}, nil)
	if err != nil {
		return 0, err
	}
	return copy(b, a.data), a.err
}

// Close closes the file.
func (f *File) Close() error {
	if !f.asked {
		return f.file.Close()
	}
	_, err := ask(f.device, f.Name(), func() (struct{}, error) { return struct{}{}, f.file.Close() }, nil)
	return err
}
