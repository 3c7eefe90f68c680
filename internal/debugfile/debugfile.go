// Package debugfile finds the file with the debug symbols that were stripped from
// another one:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html
package debugfile

import (
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-usdt/usdt/internal/procfs"
	"github.com/go-usdt/usdt/internal/safeelf"
)

// Dir is where distributions put the symbols that they strip.
const Dir = "/usr/lib/debug"

// File is an open file with debug symbols.
type File struct {
	ELF *safeelf.File
	*procfs.File
}

// ByID opens the file in dir with the build-id. It returns nil if there is none.
func ByID(dir, id string) *File {
	if len(id) <= 2 {
		return nil
	}
	d := open(filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
	if d != nil && d.ELF.BuildID() != id {
		d.Close()
		return nil
	}
	return d
}

// ByLink opens the file that section .gnu_debuglink of f, the file at path, names: in
// the directory of path, below that, or in dir. It returns nil if there is none.
//
// The author of a file chooses the name. So the directory of path must be one that is
// trusted.
func ByLink(f *safeelf.File, path, dir string) *File {
	name, sum, ok := f.DebugLink()
	if !ok {
		return nil
	}
	left := int64(maxSum)
	for _, at := range directories(path) {
		for _, path := range []string{
			filepath.Join(at, name),
			filepath.Join(at, ".debug", name),
			filepath.Join(dir, at, name),
		} {
			if sumOf(path, &left) != sum {
				continue
			}
			if d := open(path); d != nil {
				return d
			}
		}
	}
	return nil
}

// ByAltLink opens the file with which f, the file at path, shares parts of its debugging
// information, as dwz makes it (.gnu_debugaltlink, .debug_sup): by the build-id that f
// has of it in dir, or by the path. It returns an error if f names a file that is not
// found, and nothing if f names none.
//
// The author of a file chooses the path. So one that is not below dir is only followed
// if beside says that f's author is trusted.
func ByAltLink(f *safeelf.File, path string, dirs []string, beside bool) (*File, error) {
	name, id, ok := f.AltLink()
	if !ok {
		return nil, nil
	}
	var paths []string
	for _, dir := range dirs {
		if d := ByID(dir, id); d != nil {
			return d, nil
		}
		// dwz is told the path that the file will have once it is installed.
		if _, below, ok := strings.Cut(name, Dir+"/"); ok {
			paths = append(paths, filepath.Join(dir, filepath.Clean("/"+below)))
		}
	}
	if beside {
		if !filepath.IsAbs(name) {
			for _, dir := range directories(path) {
				paths = append(paths, filepath.Join(dir, name))
			}
		} else {
			paths = append(paths, name)
		}
	}
	for _, path := range paths {
		d := open(path)
		if d != nil && d.ELF.IsAlt(id) {
			return d, nil
		}
		if d != nil {
			d.Close()
		}
	}
	return nil, fmt.Errorf("%s, with build-id %s, has parts of its debugging information and is not found", name, id)
}

// ByPath opens the file at path if only root and this user can change it. It returns nil if there
// is none.
func ByPath(path string) *File {
	d := open(path)
	if d != nil && !procfs.Installed(d.File) {
		d.Close()
		return nil
	}
	return d
}

func open(path string) *File {
	f, err := procfs.OpenFile(path)
	if err != nil {
		return nil
	}
	e, err := safeelf.NewFile(f)
	if err != nil {
		f.Close()
		return nil
	}
	e.Trust() // only the user and those whom the user trusts put files where this package looks
	return &File{e, f}
}

// directories returns the directory of the file at path and, if it is another, the
// one to which symbolic links lead.
func directories(path string) []string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	out := []string{filepath.Dir(abs)}
	if real, err := filepath.EvalSymlinks(abs); err == nil && filepath.Dir(real) != out[0] {
		out = append(out, filepath.Dir(real))
	}
	return out
}

// maxSum is the number of bytes of files that are summed up at most: a sparse file
// costs its owner nothing, and its reader a second for each gigabyte.
const maxSum = 2 << 30

// sumOf returns the CRC-32 of a file and subtracts its size from left. It returns 0
// if the file cannot be read or has more than left bytes.
func sumOf(path string, left *int64) uint32 {
	r, err := procfs.OpenFile(path)
	if err != nil {
		return 0
	}
	defer r.Close()
	h := crc32.NewIEEE()
	n, err := io.Copy(h, io.LimitReader(r, *left))
	if *left -= n; err != nil || *left == 0 {
		return 0
	}
	return h.Sum32()
}
