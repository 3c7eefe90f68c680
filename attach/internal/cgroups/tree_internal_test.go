package cgroups

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTreeWithoutWatches checks that groups are found at each look, also when they are made where the
// kernel watches no more directories, and that an error names the limit.
func TestTreeWithoutWatches(t *testing.T) {
	root := t.TempDir() // as good as a hierarchy
	left := 2           // watches: of the root and a
	known := map[string]uint64{}
	tr := &tree{
		found: func(group string, id uint64) error {
			known[group] = id
			return nil
		},
		lost: func(group string) { delete(known, group) },
		addWatch: func(fd int, dir string, mask uint32) (int, error) {
			wd, err := unix.InotifyAddWatch(fd, dir, mask)
			if err == nil && wd > left {
				unix.InotifyRmWatch(fd, uint32(wd))
				return -1, unix.ENOSPC
			}
			return wd, err
		},
	}
	mkdir := func(name string) {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("a")
	if err := tr.open(root); err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	look := func(limited bool, want ...string) {
		t.Helper()
		tr.mu.Lock()
		defer tr.mu.Unlock()
		err := tr.refresh()
		if limited != (err != nil && strings.Contains(err.Error(), "fs.inotify.max_user_watches")) {
			t.Errorf("error %v, want one: %v", err, limited)
		}
		if got := slices.Sorted(maps.Keys(known)); !slices.Equal(got, want) {
			t.Errorf("groups %q, want %q", got, want)
		}
	}
	look(false, "/", "/a")
	mkdir("b")
	look(true, "/", "/a", "/b")
	mkdir("b/below") // which nothing reports
	look(true, "/", "/a", "/b", "/b/below")
	tr.mu.Lock()
	left = 99
	tr.mu.Unlock()
	look(false, "/", "/a", "/b", "/b/below")
	mkdir("c")
	mkdir("b/below/c")
	look(false, "/", "/a", "/b", "/b/below", "/b/below/c", "/c")
}
