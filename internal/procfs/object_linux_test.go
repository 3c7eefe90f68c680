package procfs_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
)

// TestOpen checks that Open opens this process's program where its maps name it, and
// opens nothing in its place where they name another file, since a PID may be another
// process's by now.
func TestOpen(t *testing.T) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		t.Fatal(err)
	}
	major, minor := unix.Major(st.Dev), unix.Minor(st.Dev)
	for _, test := range []struct {
		name         string
		major, minor uint32
		inode        uint64
		opens        bool
	}{
		{"the same", major, minor, st.Ino, true},
		{"another inode", major, minor, st.Ino | 1<<40, false},
		{"another device", major, minor + 1, st.Ino, false},
	} {
		// No path leads to the file, so that only what belongs to the process is
		// left.
		maps, err := procfs.ParseMaps(fmt.Appendf(nil, "1000-2000 r-xp 00000000 %02x:%02x %d /none/at/all\n", test.major, test.minor, test.inode))
		if err != nil {
			t.Fatal(err)
		}
		f, path, err := procfs.Objects(os.Getpid(), maps)[0].Open()
		if err == nil {
			f.Close()
		}
		if (err == nil) != test.opens || err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: opened %q, %v", test.name, path, err)
		}
	}
}
