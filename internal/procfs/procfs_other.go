//go:build !linux

package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// errNoProcesses is what other systems say of every process.
var errNoProcesses = fmt.Errorf("processes of %s cannot be read: %w", runtime.GOOS, errors.ErrUnsupported)

// OpenFile opens the regular file at path for reading. What takes its place
// between looking and opening may be opened, and is closed at once.
func OpenFile(path string) (*os.File, error) {
	// A FIFO would wait for somebody who writes.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a directory, %w", path, ErrNotRegular)
	}
	return fmt.Errorf("%s is %w", path, ErrNotRegular)
}

// IDOf returns the id of an open file, which files have on Linux only.
func IDOf(*os.File) (ID, error) { return ID{}, errNoProcesses }

// Maps returns the address space of a process.
func Maps(int) ([]Mapping, error) { return nil, errNoProcesses }

// Empty returns the error for a process without an address space.
func Empty(int) error { return errNoProcesses }

// Error says in err what it means for a process.
func Error(_ int, err error) error { return err }

// Objects returns the files that a process has mapped.
func Objects(int, []Mapping) []*Object { return nil }

// Open opens the object.
func (o *Object) Open() (*os.File, string, error) { return nil, "", errNoProcesses }

// Gone returns why the object is none of its process's any more.
func (o *Object) Gone() error { return errNoProcesses }

// ReadMemory fills buf with the memory of a process.
func ReadMemory(int, uint64, []byte) error { return errNoProcesses }

// AwaitExec waits while a process executes a program that is not mapped yet.
func AwaitExec(int) {}

// PIDs returns the processes of the machine.
func PIDs() ([]int, error) { return nil, errNoProcesses }
