package library

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/go-usdt/usdt/internal/procfs"
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
	for _, path := range installedLibraries(name) {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// installedLibraries returns the libraries called name that the dynamic linker would
// find.
func installedLibraries(name string) []string {
	if cache, err := os.ReadFile("/etc/ld.so.cache"); err == nil {
		if found := cached(cache, name); len(found) > 0 {
			return found
		}
	}
	return inDirectories(name)
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

// cached returns the paths that the dynamic linker's cache has for a library,
// often one per architecture.
func cached(cache []byte, name string) []string {
	if len(cache) < cacheHeader || !bytes.HasPrefix(cache, []byte(cacheMagic)) {
		return nil
	}
	count := uint64(binary.NativeEndian.Uint32(cache[len(cacheMagic):]))
	entries := cache[cacheHeader:]
	var out []string
	for ; count > 0 && len(entries) >= cacheEntry; count-- {
		// The offsets of strings count from the beginning of the file.
		key, value := binary.NativeEndian.Uint32(entries[4:]), binary.NativeEndian.Uint32(entries[8:])
		if at(cache, key) == name {
			if path := at(cache, value); filepath.IsAbs(path) {
				out = append(out, path)
			}
		}
		entries = entries[cacheEntry:]
	}
	return out
}

// at returns the NUL-terminated string at an offset, "" if there is none.
func at(b []byte, off uint32) string {
	if uint64(off) >= uint64(len(b)) {
		return ""
	}
	return unix.ByteSliceToString(b[off:])
}
