package library

import (
	"bytes"
	"encoding/binary"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/spelling"
)

// Installed returns the programs and libraries called name that a shell and the
// dynamic linker would find.
func Installed(name string) []string {
	var out []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		info, err := procfs.Stat(path)
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			out = append(out, path)
			break
		}
	}
	for _, path := range (&linkerCache{}).libraries(name) {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// linkerCache is the dynamic linker's cache, which is read when it is first needed. The zero value is one.
type linkerCache struct {
	once sync.Once
	text []byte
}

func (c *linkerCache) read() []byte {
	c.once.Do(func() { c.text, _ = os.ReadFile("/etc/ld.so.cache") }) // without it there are directories
	return c.text
}

// libraries returns the paths of libraries of a name, as the dynamic linker would find them
// without any program's own directories.
func (c *linkerCache) libraries(name string) []string {
	var found []string
	for library, path := range cached(c.read()) {
		if string(library) == name {
			found = append(found, string(path))
		}
	}
	if len(found) > 0 {
		return found
	}
	return inDirectories(name)
}

// Like returns the path of the installed library that a name which is not installed may mean; "" if
// there is none.
func Like(name string) string {
	cache, err := os.ReadFile("/etc/ld.so.cache")
	if err != nil {
		return ""
	}
	return Nearest(name, func(yield func(string) bool) {
		for _, path := range cached(cache) {
			if !yield(string(path)) {
				return
			}
		}
	})
}

// Nearest returns the first of the paths of files that a name may mean, as "c" and "libc" mean
// libc.so.6; "" if there is none.
func Nearest(name string, files iter.Seq[string]) string {
	stem := func(library string) string {
		stem, _, _ := strings.Cut(strings.TrimPrefix(library, "lib"), ".")
		return stem
	}
	paths := map[string]string{}
	for path := range files {
		if library := stem(filepath.Base(path)); paths[library] == "" {
			paths[library] = path
		}
	}
	if path := paths[stem(name)]; path != "" || len(stem(name)) < 3 {
		return path
	}
	return paths[spelling.Nearest(stem(name), slices.Sorted(maps.Keys(paths)))]
}

// libraryDirectories are where dynamic linkers look for libraries that no cache
// has: musl's, which has no cache (ldso/dynlink.c, load_library), and glibc's,
// whose "ld.so --help" lists them.
var libraryDirectories = []string{"/lib", "/usr/local/lib", "/usr/lib", "/lib64", "/usr/lib64"}

// debianMachines are the directories within /lib and /usr/lib in which Debian
// keeps an architecture's libraries (https://wiki.debian.org/Multiarch/Tuples).
var debianMachines = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// inDirectories returns the first library of that name.
func inDirectories(name string) []string {
	var dirs []string
	if machine, ok := debianMachines[runtime.GOARCH]; ok {
		dirs = append(dirs, "/lib/"+machine, "/usr/lib/"+machine)
	}
	for _, dir := range append(dirs, libraryDirectories...) {
		path := filepath.Join(dir, name)
		if info, err := procfs.Stat(path); err == nil && info.Mode().IsRegular() {
			return []string{path}
		}
	}
	return nil
}

// Sizes in glibc's cache of libraries, sysdeps/generic/dl-cache.h: struct
// cache_file_new and struct file_entry_new.
const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48
	cacheEntry  = 24
)

// cached returns the libraries of the dynamic linker's cache, with their paths; often one per
// architecture.
func cached(cache []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, path []byte) bool) {
		if len(cache) < cacheHeader || !bytes.HasPrefix(cache, []byte(cacheMagic)) {
			return
		}
		count := uint64(binary.NativeEndian.Uint32(cache[len(cacheMagic):]))
		entries := cache[cacheHeader:]
		for ; count > 0 && len(entries) >= cacheEntry; count-- {
			// The offsets of strings count from the beginning of the file.
			key, value := binary.NativeEndian.Uint32(entries[4:]), binary.NativeEndian.Uint32(entries[8:])
			if path := at(cache, value); bytes.HasPrefix(path, []byte("/")) && !yield(at(cache, key), path) {
				return
			}
			entries = entries[cacheEntry:]
		}
	}
}

// at returns the NUL-terminated string at an offset, none if that is not in b.
func at(b []byte, off uint32) []byte {
	if uint64(off) >= uint64(len(b)) {
		return nil
	}
	text, _, _ := bytes.Cut(b[off:], []byte{0})
	return text
}
