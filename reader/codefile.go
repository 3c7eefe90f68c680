package reader

import (
	"bytes"
	"debug/elf"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-usdt/usdt/internal/debugfile"
)

// findCode returns the file that holds f's code. If f is a file of debug symbols that
// the user named, this is the binary with its build-id. It is f itself if that binary
// is not found, and for a file that a process has mapped, whose breakpoints lie in
// the file that the process runs.
func (f *File) findCode() *File {
	id := f.BuildID()
	if !f.named || len(id) <= 2 || !f.isDebug() {
		return f
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		return f
	}
	for _, candidate := range binaries(path, id) {
		b, err := Open(candidate)
		if err != nil {
			continue
		}
		if b.BuildID() == id && b.elf.Machine == f.elf.Machine && !b.isDebug() && sameNotes(f, b) {
			f.binary.Store(b)
			return b
		}
		b.Close()
	}
	return f
}

// sameNotes reports whether the files have the same probes. Since anybody can write a
// build-id into a file, only the binary itself decides where breakpoints go in it.
func sameNotes(a, b *File) bool {
	left, err := a.notes()
	if err != nil {
		return false
	}
	right, err := b.notes()
	return err == nil && slices.EqualFunc(left, right, sameBytes)
}

func sameBytes(a, b *io.SectionReader) bool {
	if a.Size() != b.Size() {
		return false
	}
	left, right := make([]byte, 64<<10), make([]byte, 64<<10)
	for off := int64(0); off < a.Size(); off += int64(len(left)) {
		n, _ := a.ReadAt(left, off)
		m, _ := b.ReadAt(right, off)
		if n == 0 || !bytes.Equal(left[:n], right[:m]) {
			return false
		}
	}
	return true
}

// isDebug reports whether the file's code has been removed, as objcopy
// --only-keep-debug does: sections keep their place but have no contents.
func (f *File) isDebug() bool {
	found := false
	for i := range f.elf.Sections {
		if s := &f.elf.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 {
			if s.Type != elf.SHT_NOBITS {
				return false
			}
			found = true
		}
	}
	return found
}

// binaries returns the paths at which the binary of the debug symbols at path may be:
// the places of debugFile, backwards, and the place where Fedora links build-ids to
// binaries.
func binaries(path, id string) []string {
	dir, name := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".debug")
	out := []string{
		filepath.Join("/usr/lib/.build-id", id[:2], id[2:]),
		filepath.Join(debugfile.Dir, ".build-id", id[:2], id[2:]),
		filepath.Join(dir, name),
	}
	if filepath.Base(dir) == ".debug" {
		out = append(out, filepath.Join(filepath.Dir(dir), name))
	}
	if below, ok := strings.CutPrefix(dir, debugfile.Dir+"/"); ok {
		out = append(out, filepath.Join("/", below, name))
	}
	return out
}
