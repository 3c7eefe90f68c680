package reader

import (
	"bytes"
	"debug/elf"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/go-usdt/usdt/internal/procfs"
)

// debugDir is where distributions put the symbols that they strip.
const debugDir = "/usr/lib/debug"

// debugFile reads the symbols in the separate file that belongs to f, found by its
// build-id or by its .gnu_debuglink. It returns nil if there is none:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/Separate-Debug-Files.html
//
// The author of a file chooses both. So debugFile looks beside a file only if the
// user named it. For a file that a process has mapped, it reads the one in debugDir,
// by its build-id, if the mapped file is one of the system's.
func (f *File) debugFile() (*symtab, error) {
	if !f.named && !f.isInstalled() {
		return nil, nil
	}
	if id := f.BuildID(); len(id) > 2 {
		d, err := Open(filepath.Join(debugDir, ".build-id", id[:2], id[2:]+".debug"))
		if err == nil {
			defer d.Close()
			if d.BuildID() == id {
				return newSymtab(d.elf, elf.SHT_SYMTAB)
			}
		}
	}
	name, sum, ok := f.debugLink()
	if !ok || !f.named {
		return nil, nil
	}
	left := int64(maxDebugLink)
	for _, dir := range directories(f.path) {
		for _, path := range []string{
			filepath.Join(dir, name),
			filepath.Join(dir, ".debug", name),
			filepath.Join(debugDir, dir, name),
		} {
			if sumOf(path, &left) != sum {
				continue
			}
			if d, err := Open(path); err == nil {
				defer d.Close()
				return newSymtab(d.elf, elf.SHT_SYMTAB)
			}
		}
	}
	return nil, nil
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

// debugLink returns the name and checksum in .gnu_debuglink: a string, padded
// to four bytes, and a CRC-32.
func (f *File) debugLink() (name string, sum uint32, ok bool) {
	s := f.elf.Section(".gnu_debuglink")
	if s == nil {
		return "", 0, false
	}
	data, err := f.elf.Data(s, 4<<10)
	if err != nil {
		return "", 0, false
	}
	i := bytes.IndexByte(data, 0)
	at := (i + 4) &^ 3
	if i <= 0 || at+4 > len(data) {
		return "", 0, false
	}
	// The search stays within given directories, never above them.
	return filepath.Base(string(data[:i])), f.elf.ByteOrder.Uint32(data[at:]), true
}

// maxDebugLink is the number of bytes of files that are summed up at most: a sparse
// file costs its owner nothing, and its reader a second for each gigabyte.
const maxDebugLink = 2 << 30

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
