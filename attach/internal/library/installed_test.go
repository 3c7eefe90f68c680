package library

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/go-usdt/usdt/internal/systest/needs"
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

// FuzzCached reads damaged caches.
func FuzzCached(f *testing.F) {
	cache := append([]byte(cacheMagic), make([]byte, cacheHeader-len(cacheMagic)+cacheEntry)...)
	cache[len(cacheMagic)] = 1
	cache[cacheHeader+4], cache[cacheHeader+8] = byte(len(cache)), byte(len(cache)+5)
	f.Add(append(cache, "libx\x00/lib/libx\x00"...))
	f.Add(cache)
	f.Fuzz(func(t *testing.T, cache []byte) {
		for library, path := range cached(cache) {
			if !filepath.IsAbs(string(path)) || !bytes.Contains(cache, path) || !bytes.Contains(cache, library) {
				t.Errorf("%q is found at %q", library, path)
			}
		}
	})
}
