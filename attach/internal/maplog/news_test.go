package maplog

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestNewsBesideLog has news of each new file also where a log asks the kernel for build-ids, which
// the kernel then marks in the records of other events.
func TestNewsBesideLog(t *testing.T) {
	openLog(t, nil)
	n, err := OpenNews(nil, false)
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer n.Close()
	openLog(t, nil) // the kernel writes to the newest event first
	awaitNews(t, n, runAnew(t), runAnew(t), runAnew(t))
}

// TestNewsShared has several readers of the same reports: each has all news since it was opened, until it
// is closed, and the kernel reports once.
func TestNewsShared(t *testing.T) {
	first, err := OpenNews(nil, false)
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer first.Close()
	rings := len(shared.rings)
	var more []*News
	for range 5 {
		n, err := OpenNews(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		more = append(more, n)
	}
	of, err := OpenNews([]int{os.Getpid()}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	path := runAnew(t)
	awaitNews(t, first, path)
	first.Close()
	first.Close()
	for _, n := range more {
		awaitNews(t, n, path)
	}
	last := runAnew(t)
	for _, n := range more {
		awaitNews(t, n, last)
		n.Close()
	}
	if mappers, _ := first.Take(); slices.ContainsFunc(mappers, func(m Mapper) bool { return slices.Contains(m.Paths, last) }) {
		t.Error("news after the end")
	}
	if mappers, _ := of.Take(); len(mappers) > 0 {
		t.Errorf("news of other processes: %v", mappers)
	}
	if got := len(shared.rings); got != rings || len(shared.readers) != 1 {
		t.Errorf("%d rings with %d readers, want %d with one", got, len(shared.readers), rings)
	}
	of.Close()
	if len(shared.rings)+len(shared.readers) != 0 {
		t.Errorf("%d rings and %d readers are left", len(shared.rings), len(shared.readers))
	}
	var turns sync.WaitGroup
	for range 4 {
		turns.Go(func() {
			for range 20 {
				if n, err := OpenNews(nil, false); err != nil {
					t.Error(err)
				} else {
					n.Close()
				}
			}
		})
	}
	turns.Wait()
	if len(shared.rings)+len(shared.readers) != 0 {
		t.Errorf("%d rings and %d readers are left after turns", len(shared.rings), len(shared.readers))
	}
}

// runAnew runs a program of a file of its own, and returns its path.
func runAnew(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "true") // busybox does what its name says
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	needs.Run(t, path)
	return path
}

// awaitNews waits until there is news of all paths.
func awaitNews(t *testing.T, n *News, paths ...string) {
	t.Helper()
	waiting := map[string]bool{}
	for _, path := range paths {
		waiting[path] = true
	}
	for end := time.Now().Add(time.Minute); len(waiting) > 0; {
		select {
		case <-n.C:
		case <-time.After(time.Until(end)):
			t.Fatalf("no news of %v", waiting)
		}
		mappers, _ := n.Take()
		for path := range waiting {
			if slices.ContainsFunc(mappers, func(m Mapper) bool { return slices.Contains(m.Paths, path) }) {
				delete(waiting, path)
			}
		}
	}
}

// TestNewsByProgram reports a file once for each program whose processes map it, with the program.
func TestNewsByProgram(t *testing.T) {
	n := &News{C: make(chan struct{}, 1), known: map[codeFile]bool{}, programs: map[int]string{}}
	exec := func(pid int) { n.take(&happening{what: unix.PERF_RECORD_COMM, pid: pid}, time.Time{}, time.Time{}) }
	mapped := func(pid int, path string, inode uint64) {
		n.take(&happening{what: unix.PERF_RECORD_MMAP2, pid: pid, mapped: mapping{file: file{path: path, inode: inode}}}, time.Time{}, time.Time{})
	}
	check := func(want ...Mapper) {
		t.Helper()
		got, _ := n.Take()
		if !slices.EqualFunc(got, want, func(a, b Mapper) bool { return a.PID == b.PID && slices.Equal(a.Paths, b.Paths) }) {
			t.Errorf("mappers %v, want %v", got, want)
		}
	}
	exec(1)
	mapped(1, "/bin/a", 1)
	check(Mapper{PID: 1, Paths: []string{"/bin/a"}})
	mapped(1, "/lib/c", 3)
	check(Mapper{PID: 1, Paths: []string{"/bin/a", "/lib/c"}})
	exec(2)
	mapped(2, "/bin/b", 2)
	mapped(2, "/lib/c", 3)
	check(Mapper{PID: 2, Paths: []string{"/bin/b", "/lib/c"}})
	exec(3)
	mapped(3, "/bin/b", 2)
	mapped(3, "/lib/c", 3)
	check()
	exec(3)
	mapped(3, "/bin/a", 1)
	mapped(3, "/lib/c", 3)
	mapped(3, "/lib/d", 4)
	check(Mapper{PID: 3, Paths: []string{"/bin/a", "/lib/d"}})
	mapped(4, "/lib/d", 4) // which has executed its program before
	check(Mapper{PID: 4, Paths: []string{"/lib/d"}})
}
