package reader

import (
	"debug/elf"
	"path/filepath"
	"strings"
)

// findCode returns the file that holds f's code: f itself, or, if f is a file
// of debug symbols, the binary with its build-id. It is f, too, if that is not
// found.
func (f *File) findCode() *File {
	id := f.BuildID()
	if f.path == "" || len(id) <= 2 || !f.isDebug() {
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
		if b.BuildID() == id && b.elf.Machine == f.elf.Machine && !b.isDebug() {
			f.binary.Store(b)
			return b
		}
		b.Close()
	}
	return f
}

// isDebug reports whether the file's code has been taken out, as objcopy
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

// binaries returns where the binary of the debug symbols at path may be: the
// places of debugFile, backwards, and where Fedora links build-ids to binaries.
func binaries(path, id string) []string {
	dir, name := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), ".debug")
	out := []string{
		filepath.Join("/usr/lib/.build-id", id[:2], id[2:]),
		filepath.Join(debugDir, ".build-id", id[:2], id[2:]),
		filepath.Join(dir, name),
	}
	if filepath.Base(dir) == ".debug" {
		out = append(out, filepath.Join(filepath.Dir(dir), name))
	}
	if below, ok := strings.CutPrefix(dir, debugDir+"/"); ok {
		out = append(out, filepath.Join("/", below, name))
	}
	return out
}
