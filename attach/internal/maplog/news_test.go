package maplog

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-usdt/usdt/internal/systest/needs"
)

// TestNewsBesideLog has news of each new file also where a log asks the kernel for build-ids, which
// the kernel then marks in the records of other events.
func TestNewsBesideLog(t *testing.T) {
	openLog(t, nil)
	n, err := OpenNews(nil)
	if err != nil {
		needs.Skip(t, "%v", err)
	}
	defer n.Close()
	openLog(t, nil) // the kernel writes to the newest event first
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	waiting := map[string]bool{}
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name, "true") // busybox does what its name says
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, program, 0o755); err != nil {
			t.Fatal(err)
		}
		needs.Run(t, path)
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
