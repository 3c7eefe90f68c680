package attach

import (
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/needs"
)

// TestInDirectories finds the C library without a cache.
func TestInDirectories(t *testing.T) {
	found := inDirectories("libc.so.6")
	if len(found) != 1 {
		needs.Skip(t, "needs one libc.so.6, found %q", found)
	}
	if !filepath.IsAbs(found[0]) || filepath.Base(found[0]) != "libc.so.6" {
		t.Errorf("found %q", found)
	}
	for _, name := range []string{"", ".", "no-such-library.so"} {
		if found := inDirectories(name); found != nil {
			t.Errorf("%q: found %q, want nothing", name, found)
		}
	}
}
