package procfs

import (
	"fmt"
	"os"
	"reflect"

	"golang.org/x/sys/unix"
)

// MappedID returns the id that memory maps have for an open file, and the kernel's own
// structures. On btrfs, and on overlays of several file systems, the device is another one
// than that of stat, which [IDOf] returns. MappedID maps a page of the file to see it.
func MappedID(f *File) (ID, error) {
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return ID{}, fmt.Errorf("map %s: %w", f.Name(), err)
	}
	defer unix.Munmap(page)
	maps, err := Maps(os.Getpid())
	if err != nil {
		return ID{}, err
	}
	start := uint64(reflect.ValueOf(page).Pointer())
	for i := range maps {
		if m := &maps[i]; m.Start == start && m.Inode != 0 {
			return ID{m.Dev, m.Inode}, nil
		}
	}
	return ID{}, fmt.Errorf("%s is not among what this process has mapped", f.Name())
}
