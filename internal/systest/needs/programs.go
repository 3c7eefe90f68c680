package needs

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Programs are commands of this module, each built once for all tests of a package. Its
// TestMain calls Remove in the end.
type Programs struct {
	mu  sync.Mutex
	dir string
}

// Build builds a command, named by its directory, unless that was done before, and returns
// the program's path.
func (p *Programs) Build(t testing.TB, dir string) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		var err error
		if p.dir, err = os.MkdirTemp("", "programs"); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(p.dir, filepath.Base(dir))
	if _, err := os.Stat(out); err != nil {
		build(t, out, dir)
	}
	return out
}

// Remove removes the programs.
func (p *Programs) Remove() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return os.RemoveAll(p.dir)
}
