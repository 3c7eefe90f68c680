package symbols

import (
	"bytes"
	"encoding/hex"

	"github.com/go-usdt/usdt/internal/debugfile"
	"github.com/go-usdt/usdt/internal/safeelf"
	"github.com/go-usdt/usdt/symbols/internal/debuginfo"
)

// debugSymbols is an object's debugging information.
type debugSymbols struct {
	info *debuginfo.Info // nil if there is none
	elf  *safeelf.File   // the separate file that has it, nil if the object itself has
}

// readDebug reads the object's debugging information, its own or that of a separate
// file. What is malformed says nothing.
func (o *object) readDebug() *debugSymbols {
	d := &debugSymbols{}
	file := o.elf
	d.info, _ = debuginfo.New(o.elf)
	if d.info == nil {
		if f := o.debugFile(); f != nil {
			o.keep(f.File)
			file, d.elf = f.ELF, f.ELF
			d.info, _ = debuginfo.New(f.ELF)
		}
	}
	if d.info != nil {
		if alt := o.altFile(file); alt != nil {
			o.keep(alt.File)
			if info, _ := debuginfo.New(alt.ELF); info != nil {
				d.info.SetAlt(info)
				o.grow(info.Size())
			}
		}
	}
	o.grow(d.info.Size())
	return d
}

// debugFile opens the separate file with the object's debug symbols. Whoever wrote the
// object chose its build-id and its .gnu_debuglink, so debugFile looks for that of a
// file which only root and this user can change, and beside files that the user named.
func (o *object) debugFile() *debugfile.File {
	if !o.trusted {
		return nil
	}
	for _, dir := range o.resolver.debugDirs {
		if d := debugfile.ByID(dir, o.buildID); d != nil {
			return d
		}
	}
	if o.named {
		for _, dir := range o.resolver.debugDirs {
			if d := debugfile.ByLink(o.elf, o.path, dir); d != nil {
				return d
			}
		}
	}
	return nil
}

// altFile opens the file that f shares parts of its debugging information with:
// .gnu_debugaltlink has a path and a build-id, and only that is gone by.
func (o *object) altFile(f *safeelf.File) *debugfile.File {
	s := f.Section(".gnu_debugaltlink")
	if s == nil {
		return nil
	}
	data, err := f.Data(s, 4<<10)
	if err != nil {
		return nil
	}
	_, id, ok := bytes.Cut(data, []byte{0})
	if !ok {
		return nil
	}
	for _, dir := range o.resolver.debugDirs {
		if d := debugfile.ByID(dir, hex.EncodeToString(id)); d != nil {
			return d
		}
	}
	return nil
}
