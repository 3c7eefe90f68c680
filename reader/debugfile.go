package reader

import (
	"debug/elf"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/procfs"
)

// debugFile reads the symbols in the separate file that belongs to f, found by its
// build-id or by its .gnu_debuglink. It returns nil if there is none.
//
// The author of a file chooses both. So debugFile looks beside a file only if the
// user named it. For a file that a process has mapped, it reads the one in
// debugfile.Dir, by its build-id, if the mapped file is one of the system's.
func (f *File) debugFile() (*symtab, error) {
	if !f.named && !f.isInstalled() {
		return nil, nil
	}
	d := debugfile.ByID(debugfile.Dir, f.BuildID())
	if d == nil && f.named {
		d = debugfile.ByLink(f.elf, f.path, debugfile.Dir)
	}
	if d == nil {
		return nil, nil
	}
	defer d.Close()
	return newSymtab(d.ELF, elf.SHT_SYMTAB)
}

// isInstalled reports whether f is a file that only root and this user can change.
func (f *File) isInstalled() bool {
	r, ok := f.reader.(procfs.Opened)
	return ok && procfs.Installed(r)
}
