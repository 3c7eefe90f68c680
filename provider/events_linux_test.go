package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-usdt/usdt/provider"
)

// shown loads a provider with two probes and shows them in dir.
func shown(t *testing.T, dir, name string) (*provider.Provider, error) {
	t.Helper()
	opts := options()
	opts.EventsDir = dir
	p := fresh(name, opts)
	provider.NewProbe0(p, "a")
	provider.NewProbe0(p, "b")
	t.Cleanup(func() { p.Close() })
	return p, p.Load()
}

// TestEventsAfterChdir checks that Close finds a directory that was given by a
// relative path.
func TestEventsAfterChdir(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	p, err := shown(t, "events", "moving")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("/")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "events", "*")); err != nil || len(left) != 0 {
		t.Errorf("Close left %v (%v)", left, err)
	}
}

// TestEventsOfOthers checks that Load writes nothing where others can write, and
// removes nothing that does not belong in an events directory.
func TestEventsOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "events")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o1777); err != nil {
		t.Fatal(err)
	}
	if _, err := shown(t, dir, "others"); err == nil || !strings.Contains(err.Error(), "can be written to by others") {
		t.Errorf("world-writable: got %v, want it refused", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	keep := []string{"4194304/data/file", "20261121", "04194304/provider/probe/format"}
	for _, path := range keep {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shown(t, dir, "others"); err != nil {
		t.Fatal(err)
	}
	for _, path := range keep {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Errorf("it removed what is not its own: %v", err)
		}
	}
	// A second provider of one name, as a second copy of this package would have.
	if _, err := shown(t, dir, "others"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "a.2"} {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(os.Getpid()), "others", name, "address")); err != nil {
			t.Error(err)
		}
	}
}

// TestEventsTogether checks that providers can be loaded and closed at the same time
// with one events directory, which they name in two ways.
func TestEventsTogether(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 40 {
				name := fmt.Sprintf("together%d", g)
				d := dir + strings.Repeat("/", i%2)
				p, err := shown(t, d, name)
				if err != nil {
					t.Error(err)
				}
				for _, probe := range []string{"a", "b"} {
					if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(os.Getpid()), name, probe, "address")); err != nil {
						t.Error(err)
					}
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v (%v) were left", left, err)
	}
}
