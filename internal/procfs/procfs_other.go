//go:build !linux

package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// errNoProcesses is the error of systems other than Linux for every process.
var errNoProcesses = fmt.Errorf("processes of %s cannot be read: %w", runtime.GOOS, errors.ErrUnsupported)

// OpenFile opens the regular file at path for reading. A file that takes its place
// between the check and the opening may be opened, and is closed at once.
func OpenFile(path string) (*File, error) {
	// Opening a FIFO would wait for a writer.
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
	return &File{file: f}, nil
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

type volume struct{ path string }

func volumeOf(_ uint64, path string) volume { return volume{path} }

// IDOf returns an error: open files have an id on Linux only.
func IDOf(*File) (ID, error) { return ID{}, errNoProcesses }

// Maps returns an error: there is no address space to read.
func Maps(int) ([]Mapping, error) { return nil, errNoProcesses }

// Empty returns the error for a process without an address space.
func Empty(int) error { return errNoProcesses }

// Error returns err.
func Error(_ int, err error) error { return err }

// Objects returns nil.
func Objects(int, []Mapping) []*Object { return nil }

// Open returns an error.
func (o *Object) Open() (*File, string, error) { return nil, "", errNoProcesses }

// Gone returns an error.
func (o *Object) Gone() error { return errNoProcesses }

// ReadMemory returns an error.
func ReadMemory(int, uint64, []byte) error { return errNoProcesses }

// AwaitExec does nothing.
func AwaitExec(int) {}

// ErrNoProc occurs on Linux only.
var ErrNoProc = errors.New("there is no /proc")

// PIDs returns an error.
func PIDs() ([]int, error) { return nil, errNoProcesses }

// Installed returns false, so that no file is trusted: on systems other than Linux,
// the package cannot find out who can change a file.
func Installed(Opened) bool { return false }

// OpenIn returns an error.
func OpenIn(int, string) (*File, error) { return nil, errNoProcesses }

// NamespacePID returns pid.
func NamespacePID(pid int) int { return pid }

// Parent returns 0.
func Parent(int) int { return 0 }

// User returns -1.
func User(int) int { return -1 }

// OwnedBy returns false.
func OwnedBy(os.FileInfo, int) bool { return false }

// StartTime returns an error.
func StartTime(int) (uint64, error) { return 0, errNoProcesses }

// Copied returns "" here.
func Copied(int) string { return "" }

// CopiedIn returns "" here.
func CopiedIn(int, []Mapping) string { return "" }

// Translator returns "" here.
func Translator(int) string { return "" }
