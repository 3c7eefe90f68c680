package reader

import (
	"os"
	"testing"

	"github.com/go-usdt/usdt/internal/procfs"
)

// Files are opened once, however many processes have mapped them. This test's
// own binary has no probes, and is not opened again for that either.
func TestFilesOnce(t *testing.T) {
	maps, err := procfs.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	objects := procfs.Objects(os.Getpid(), maps)
	fs := newFiles()
	defer fs.close()
	for _, o := range objects {
		if f, opened, err := fs.open(o); err != nil || f == nil && opened == "" {
			t.Errorf("first: %s was opened as %q, %v", o.Path, opened, err)
		}
		again := *o
		again.Path = "/nonexistent"
		if _, opened, err := fs.open(&again); err != nil || opened != "" {
			t.Errorf("second: %s was opened as %q, %v", o.Path, opened, err)
		}
	}
	if len(objects) == 0 || len(fs.byID) > len(objects) {
		t.Errorf("%d files of %d objects", len(fs.byID), len(objects))
	}
}
